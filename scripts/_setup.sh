# Sourced by scripts/run and scripts/test: makes .venv and installs into it, once.
#
# constraints.txt carries hashes, and pip knows no hash for a checkout: an install of the project with `-c` or
# `-r` of it is refused. So the pinned packages are installed first, every file checked against its hash, then the
# checkout without dependencies and without build isolation, so that nothing comes unpinned from the network.
#
# Everything here speaks on stderr: stdout belongs to the program's answer.
# shellcheck shell=bash

root=$(cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
venv=$root/.venv
log=$venv/setup.log
# what runs beside this script, while something is installed
job=
ticker=

say() { printf 'edgeagent: %s\n' "$*" >&2; }

die() {
    say "$@"
    exit 1
}

# The system packages of one section of apt-packages.txt, on one line.
system_packages() {
    awk -v want="$1:" '/^#/ {section = $2; next} section == want' "$root/scripts/apt-packages.txt" | paste -sd ' '
}

# Prints what has to be the same for an installation to be still good.
fingerprint() {
    {
        printf '%s\n' "$root"
        cat -- "$venv/pyvenv.cfg" "$root/pyproject.toml" "$root/constraints.txt" "$root/constraints-test.txt"
    } | sha256sum
}

# Is .venv as the given stage (run or test) left it, and of the Python asked for?
ready() {
    local stamp=$venv/installed-$1 wanted
    [[ -f $stamp && -x $venv/bin/python && $(<"$stamp") == "$(fingerprint)" ]] || return 1
    [[ -z ${PYTHON:-} ]] && return
    wanted=$("$PYTHON" -c 'import platform; print(platform.python_version())' 2>/dev/null) || return 1
    grep -qxF "version = $wanted" "$venv/pyvenv.cfg"
}

choose_python() {
    local facts version bits
    python=${PYTHON:-python3}
    facts=$("$python" -c 'import sys
print("%d.%d %d" % (sys.version_info[0], sys.version_info[1], 64 if sys.maxsize > 2**32 else 32))' 2>/dev/null) ||
        die "$python does not run. Type: sudo apt-get install $(system_packages run)"
    read -r version bits <<<"$facts"
    case $version in
        3.11 | 3.12 | 3.13) ;;
        *) die "$python is Python $version and edgeagent needs 3.11, 3.12 or 3.13: type 'uv python install 3.12'," \
            "then 'PYTHON=\$(uv python find 3.12) $0'." ;;
    esac
    [[ $bits == 64 ]] || die "$python is a 32-bit program and edgeagent needs a 64-bit system: install the" \
        "64-bit edition of Raspberry Pi OS, Debian or Ubuntu."
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        die "$python cannot make a virtual environment. Type: sudo apt-get install $(system_packages run)"
}

# Does .venv work, and is it made for this folder? A checkout that was moved needs a new one.
sound() {
    grep -qsF -- "$venv" "$venv/bin/activate" &&
        "$venv/bin/python" -c 'import pip, sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null
}

# Keeps a sound .venv, unless PYTHON names another Python: it may hold a llama.cpp that took minutes to build.
make_venv() {
    local version
    [[ -z ${PYTHON:-} ]] && sound && return
    choose_python
    version=$("$python" -c 'import platform; print(platform.python_version())')
    grep -qsxF "version = $version" "$venv/pyvenv.cfg" && sound && return
    say "making .venv with Python $version"
    "$python" -m venv --clear "$venv" >&2 || die "$python -m venv failed."
}

# One build job per core, but no more than one per 1.5 GiB of memory: a compiler takes up to that much.
build_jobs() {
    local cores memory jobs
    cores=$(nproc)
    memory=$(awk '/^MemTotal:/ {print int($2 / (1.5 * 1024 * 1024))}' /proc/meminfo)
    jobs=$((memory < cores ? memory : cores))
    printf '%s' $((jobs > 1 ? jobs : 1))
}

# The build's own count of files, as ninja prints it into the log.
progress() { sed -nE 's|^ *\[([0-9]+)/([0-9]+)\].*|\1 of \2|p' "$log" | tail -n 1; }

tell_progress() {
    local what=$1 file
    while sleep 30 && kill -0 "$job" 2>/dev/null; do
        file=$(progress)
        say "still $what: $SECONDS s${file:+, file $file}"
    done
}

stop_ticker() {
    [[ -n $ticker ]] || return 0
    kill -- "-$ticker" 2>/dev/null || true
    wait "$ticker" 2>/dev/null || true
    ticker=
}

# Runs a command with its output in the log, and tells every half minute how far it is.
watch_over() {
    local what=$1 status=0
    shift
    say "$what"
    SECONDS=0
    # a process group each, so that an interruption reaches the compilers and nothing else
    set -m
    "$@" </dev/null >>"$log" 2>&1 &
    job=$!
    tell_progress "$what" </dev/null {lock}<&- &
    ticker=$!
    set +m
    wait "$job" || status=$?
    job=
    stop_ticker
    ((status == 0)) && return
    tail -n 20 -- "$log" >&2
    die "$what failed; all of it is in $log"
}

# SIGINT, because pip then removes its temporary files. ninja hands it on to the compilers.
interrupted() {
    trap - INT TERM HUP
    if [[ -n $job ]]; then
        kill -INT -- "-$job" 2>/dev/null || true
        wait "$job" 2>/dev/null || true
    fi
    stop_ticker
    say "interrupted; the same command goes on from here"
    exit 130
}

# The packages that have no wheel on the index for this Python.
from_source() {
    printf 'llama-cpp-python'
    ! grep -qsE '^version = 3\.12\.' "$venv/pyvenv.cfg" || printf '|pocketsphinx'
}

has_llama() { compgen -G "$venv/lib/python3*/site-packages/llama_cpp_python-*" >/dev/null; }

require_compiler() {
    local compiler
    for compiler in "${CXX:-c++}" g++ clang++; do
        command -v -- "${compiler%% *}" >/dev/null && return
    done
    die "no C++ compiler was found. Type: sudo apt-get install $(system_packages run)"
}

install_packages() {
    local stage=$1
    # what builds looks for Cython on the path
    local pip=(env "TMPDIR=$venv/tmp" "PATH=$venv/bin:$PATH" "$venv/bin/python" -m pip --disable-pip-version-check --no-input install)
    local pinned=("${pip[@]}" --no-deps --require-hashes)

    rm -rf -- "$venv"/installed-* "$venv/tmp"
    # /tmp is often memory: the build needs 500 MB of disk
    mkdir -p -- "$venv/tmp"
    : >"$log"

    awk -v source="^($(from_source))==" '/^[^ #]/ {skip = $0 ~ source} !skip' "$root/constraints.txt" >"$venv/wheels.txt"
    watch_over "installing packages" "${pinned[@]}" --only-binary :all: -r "$venv/wheels.txt"

    if ! has_llama; then
        say "the first start builds llama.cpp for this processor:" \
            "about 6 minutes on two cores, longer on a Raspberry Pi; later starts take none"
    fi
    CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(build_jobs)} \
        watch_over "installing llama.cpp" "${pinned[@]}" -v --no-build-isolation -r "$root/constraints.txt"

    if [[ $stage == test ]]; then
        watch_over "installing what the tests need" "${pinned[@]}" --only-binary :all: -r "$root/constraints-test.txt"
    fi
    watch_over "installing edgeagent" "${pip[@]}" --no-deps --no-build-isolation -e "$root"
    rm -rf -- "$venv/tmp"
}

# Fetches the recogniser of people's voices, once: without it the one that comes along hears. A fetch that failed is told
# by the command itself, and not tried again.
bring_models() {
    local stamp=$venv/models-brought-$UID status=0
    [[ -z ${EDGEAGENT_EMBEDDED:-} && ! -e $stamp && " $* " != *" --help "* && " $* " != *" -h "* ]] || return 0
    "$venv/bin/edgeagent" models pull --once tiny.en >&2 || status=$?
    ((status <= 128)) || exit "$status"
    { : >"$stamp"; } 2>/dev/null || true # an installation that this user may not write
}

# Makes .venv ready for a stage: run or test. Costs milliseconds when it already is.
setup() {
    local stage=$1 lock
    ready "$stage" && return
    command -v flock >/dev/null || die "flock was not found. Type: sudo apt-get install util-linux"
    # The lock is on the checkout's folder: nothing to clean up, and gone with the process that held it.
    exec {lock}<"$root"
    if ! flock --nonblock "$lock"; then
        say "another start is installing; waiting for it"
        flock "$lock"
    fi
    if ! ready "$stage"; then
        trap interrupted INT TERM HUP
        make_venv
        has_llama || require_compiler
        install_packages "$stage"
        # last, so that an installation cut off in the middle is taken up again; what the tests need includes the rest
        fingerprint >"$venv/installed-run"
        [[ $stage == run ]] || fingerprint >"$venv/installed-$stage"
        trap - INT TERM HUP
        say "ready"
    fi
    exec {lock}<&-
}
