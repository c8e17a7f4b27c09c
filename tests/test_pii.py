"""Personal data in text."""

import time
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeagent.errors import ConfigError
from edgeagent.pii import PII, find, for_log, redact, redact_unfinished, redact_values

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = """-----BEGIN RSA PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED

MIIEowIBAAKCAQEA
abc/+==
-----END RSA PRIVATE KEY-----"""

FOUND = {
    "EMAIL": ["bob@example.com", "Müller.b+robots@mail.example.co.uk", "pi@robot.local"],
    "PHONE": [
        "+49 30 901820",
        "+49 (0)30 901820",
        "+44 20 7946 0958",
        "+33 1 23 45 67 89",
        "+15551234567",
        "+1 (555) 123-4567",
        "+49.30.901820",
        "0049 30 901820",
        "(555) 123-4567",
        "555-123-4567",
        "555.123.4567",
        "1-800-555-1234",
        "123-456-7890",
        "030/901820",
        "0171-2345678",
    ],
    "SSN": ["123-45-6789"],
    "CREDIT_CARD": [
        "4111111111111111",
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "1234-5678-9012-3456",
        "5555 5555 5555 4444",
        "378282246310005",
        "3782 822463 10005",
        "6304 0000 0000 0000 000",
    ],
    "IP_ADDRESS": ["192.168.1.10", "255.255.255.255", "2001:db8::8a2e:370:7334", "fe80::1", "::1", "::ffff:10.0.0.1"],
    "AWS_KEY": ["AKIAIOSFODNN7EXAMPLE"],
    "API_KEY": ["sk-proj-abcdefghij1234567890", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "xoxb-123456789012-abcdef"],
    "JWT": [JWT],
    "PRIVATE_KEY": [PEM],
}
EACH = [(kind, example) for kind, examples in FOUND.items() for example in examples]

ROBOT_TALK = [
    "drive 2.5 meters",
    "set a timer for 300 seconds",
    "turn -90.25 degrees, then +45 degrees",
    "it is 12:30:45 on 2024-01-15, or 15.01.2024, or 1/15/2024",
    "2024-01-15T12:30:45.123456+01:00",
    "t=1700000000 ms=1700000000000 us=1700000000000000 ns=1700000000000000000",
    "odometry 123456.789 m, ticks 4294967296, heading 0.4111111111111111",
    "pose x=1.234567890123 y=-12.5 z=+12345678.9",
    "waypoints 100 200 3000 and 10 20 30 40 50",
    "firmware v1.2.3.4, version 1.2.3.4, chapter 1.2.3.4.5, 256.1.1.1",
    "frames 0049 0050 0051 0052, 0.008 2000-01-01",
    "1234 5678 9012 3456 is no card",
    "parts 1234-5678-9012-3456-7890, sound card 12345678901234567",
    "000-12-3456 and 987-65-4321 are no social security numbers",
    "aa:bb:cc:dd:ee:ff and std::vector and list[1::2]",
    "call me at 12:30, or on 12.05.2024",
    "the password is wrong, the password is not set, password: ****",
    "task-planner-with-a-long-name-for-a-module",
    "@bob, look at a@b",
    "36.6 % at 3.7 V, 1,000,000 steps, 5-3=2",
]


@pytest.mark.parametrize(("kind", "example"), EACH)
@pytest.mark.parametrize("around", ["{}", "it is {}, I think.", "({})", "first\n{}\nlast", "é {}!"])
def test_each_kind_is_replaced_whole(kind, example, around):
    assert redact(around.format(example)) == around.format(f"<{kind}>")


@pytest.mark.parametrize("text", ROBOT_TALK)
def test_what_robots_talk_about_stays(text):
    assert redact(text) == text


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("password: hunter2", "password: <PASSWORD>"),
        ("my password is swordfish.", "my password is <PASSWORD>."),
        ("The password for the wifi is blue7!", "The password for the wifi is <PASSWORD>!"),
        ("mein Passwort ist geheim1", "mein Passwort ist <PASSWORD>"),
        ("DB_PASSWORD=hunter2 pwd=x1", "DB_PASSWORD=<PASSWORD> pwd=<PASSWORD>"),
        ('{"password": "my secret phrase", "n": 1}', '{"password": "<PASSWORD>", "n": 1}'),
        ("https://h/x?user=a&pass=b&n=1", "https://h/x?user=a&pass=<PASSWORD>&n=1"),
        ("postgres://user:s3cret@db.example.com/x", "postgres://user:<PASSWORD>@db.example.com/x"),
        ("api_key=abcdef", "api_key=<API_KEY>"),
        ("token=abcdef123456", "token=<API_KEY>"),
        ("the API key is abc1", "the API key is <API_KEY>"),
        ("Authorization: Bearer abcdefgh12345678", "Authorization: Bearer <API_KEY>"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic <API_KEY>"),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPx", "aws_secret_access_key = <AWS_KEY>"),
        ("ssn: 123 45 6789", "ssn: <SSN>"),
        ("call me at 555 123 4567 please", "call me at <PHONE> please"),
        ("phone: 5551234567", "phone: <PHONE>"),
        ("my number is 555 123 4567.", "my number is <PHONE>."),
        ("my card is 1234 5678 9012 3456.", "my card is <CREDIT_CARD>."),
        ("Credit card number: 1234567890123456", "Credit card number: <CREDIT_CARD>"),
        ('{"card": "1234.5678.9012.3456"}', '{"card": "<CREDIT_CARD>"}'),
        ("10.0.0.1:8080, 10.0.0.0/8", "<IP_ADDRESS>:8080, <IP_ADDRESS>/8"),
        ("password: bob@example.com", "password: <PASSWORD>"),
        ("+49 30 901820 +33 1 23 45 67 89", "<PHONE> <PHONE>"),
        ("a@b.c+robots@example.com", "a@<EMAIL>"),
        ("pwd=>bob@example.com", "pwd=><PASSWORD>"),
    ],
)
def test_what_a_word_announces(text, redacted):
    assert redact(text) == redacted


def test_a_card_is_one_card_also_beside_other_numbers():
    assert redact("4111 1111 1111 1111 123") == "<CREDIT_CARD> 123"
    assert redact("2 4111-1111-1111-1111") == "2 <CREDIT_CARD>"
    assert [match.kind for match in find("call +4111111111111111")] != ["PHONE", "PHONE"]


def test_a_private_key_that_was_cut_off_is_gone_too():
    assert redact("key:\n" + PEM[:-20]) == "key:\n<PRIVATE_KEY>"


def test_what_is_a_placeholder_already_stays():
    text = "<EMAIL> password: <PASSWORD>, card <CREDIT_CARD>"
    assert redact(text) == text
    assert find(text) == []


def test_matches_say_where():
    text = "mail bob@example.com or call 555-123-4567"
    assert [(m.kind, text[m.start : m.end]) for m in find(text)] == [
        ("EMAIL", "bob@example.com"),
        ("PHONE", "555-123-4567"),
    ]


def test_values_are_redacted_with_their_keys():
    arguments = {
        "to": ["bob@example.com", 3],
        "password": "correct horse",
        "API_KEY": "k",
        "phone": 5551234567,
        "mobile_base": 5551234567,
        "card": 4111111111111111,
        "count": 4111111111111112,
        "on": True,
        "distance_m": 2.5,
        "huge": 10**5000,
        "tel": 10**5000,
        "nothing": None,
        "nested": {"pass": "x", "passed": "x", "bob@example.com": 1},
        "old_password": {"was": "x"},
        "fax": "ask bob@example.com",
        7: "bob@example.com",
    }
    assert redact_values(arguments) == {
        "to": ["<EMAIL>", 3],
        "password": "<PASSWORD>",
        "API_KEY": "<API_KEY>",
        "phone": "<PHONE>",
        "mobile_base": 5551234567,
        "card": "<CREDIT_CARD>",
        "count": 4111111111111112,
        "on": True,
        "distance_m": 2.5,
        "huge": 10**5000,
        "tel": 10**5000,
        "nothing": None,
        "nested": {"pass": "<PASSWORD>", "passed": "x", "<EMAIL>": 1},
        "old_password": "<PASSWORD>",
        "fax": "ask <EMAIL>",
        7: "<EMAIL>",
    }
    assert arguments["to"] == ["bob@example.com", 3]


def test_a_wrong_mode_is_named():
    assert PII() == PII(user="off", tools="off", log="redact")
    with pytest.raises(ConfigError, match=r"PII\(tools='on'\).*off, warn, redact"):
        PII(tools="on")


# --- any text -------------------------------------------------------------------------------------------------------

any_character = st.characters(exclude_categories=())
pieces = st.sampled_from(
    [example for _, example in EACH]
    + ROBOT_TALK
    + ["<EMAIL>", "<PHONE>", "<", ">", "\0", "password", "pwd=", "api key", " is ", ": ", "call", "tel", "ssn", "://"]
    + ["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "eyJ", "sk-", "Bearer ", "version "]
    + list(' .,:;-+/@()"=\n0123456789aZ')
)
tangled = st.lists(pieces | st.text("0123456789", max_size=6), max_size=12).map("".join)
texts = tangled | st.text(any_character, max_size=80)


@given(texts)
def test_redacting_twice_changes_nothing_more(text):
    once = redact(text)
    assert redact(once) == once


@given(texts)
def test_matches_are_in_order_and_do_not_overlap(text):
    end = 0
    for match in find(text):
        assert end <= match.start < match.end <= len(text)
        end = match.end


@given(texts)
def test_what_is_outside_the_matches_is_unchanged(text):
    left, end = [], 0
    for match in find(text):
        left += [text[end : match.start], f"<{match.kind}>"]
        end = match.end
    assert redact(text) == "".join([*left, text[end:]])


@given(
    st.lists(
        st.sampled_from("drive turn back meters degrees seconds at the kitchen to and".split())
        | st.floats(-1e4, 1e4).map(lambda x: f"{x:.3f}")
        | st.integers(-999, 999).map(str)  # four groups of four digits may be a card
        | st.datetimes(datetime(1970, 1, 1)).map(str)  # noqa: DTZ001  naive on purpose
        | st.times().map(str),
        max_size=12,
    ).map(" ".join)
)
def test_commands_with_any_numbers_stay(text):
    assert redact(text) == text


@settings(max_examples=30)
@given(st.recursive(st.none() | st.integers() | texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner)))
def test_redacting_values_twice_changes_nothing_more(value):
    once = redact_values(value)
    assert redact_values(once) == once


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("I drove 2.5 m in 12 s", "I drove 2.5 m in 12 s"),
        ("my card is 4111 11", "my card is 4111 11"),
        ("my card is 4111 111", ""),
        ("mail ann@", ""),
        ("mail ann@example.com now", "mail <EMAIL> now"),
        ("the password is hun", ""),
        ("the passw", "the passw"),
        ("use sk-abc", ""),
    ],
)
def test_text_that_may_go_on_is_left_out_where_it_may_become_personal(text, shown):
    assert redact_unfinished(text) == shown


def test_what_a_log_may_hold_depends_on_the_mode(caplog):
    fields = {"to": "ann@example.com", "at": 2.5, "odd": object}
    assert for_log(fields, "off", "the log") is fields
    assert for_log(fields, "redact", "the log") == {"to": "<EMAIL>", "at": 2.5, "odd": repr(object)}
    assert caplog.text == ""
    assert for_log(fields, "warn", "the log") == fields
    assert "the log holds personal data" in caplog.text


HOSTILE = [
    "a@",
    "a.",
    "a@b.c1 ",
    "1",
    "1 ",
    "1-",
    "1.",
    "+1 ",
    "0049 ",
    ": ",
    ":",
    "::1 ",
    "://a",
    "://:",
    "eyJa.",
    "- ",
]
HOSTILE += [
    "(",
    "sk-",
    "call 1",
    "bearer ",
    "password ",
    "password: ",
    "password for a ",
    "-----BEGIN PRIVATE KEY-----",
]
HOSTILE += ["4111 1111 1111 1111 ", "drive 2.5 meters "]


@pytest.mark.parametrize("unit", HOSTILE)
def test_the_time_grows_as_the_text(unit):
    def seconds(length: int) -> float:
        text = (unit * length)[:length]
        measured = []
        for _ in range(3):
            began = time.thread_time()
            find(text)
            measured.append(time.thread_time() - began)
        return min(measured)

    short_s, long_s = seconds(3_000), seconds(48_000)
    assert long_s < 64 * short_s + 0.002, "16 times the text; a quadratic pattern takes 256 times as long"
