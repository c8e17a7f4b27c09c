// The page of a robot: what is said and done, and a stop button. It knows nothing that the server has not told it; all
// that it is told after a connection stands for itself, so nothing is lost or doubled by an interruption.
import { html, render, useEffect, useRef, useState } from "./preact.js";

const SILENT_MS = 3500; // the server speaks every second
const AGAIN_MS = 1000;
const ASK_MS = 4000;
const MOST_STREAMS = 3; // of one browser, which has six connections to a server: a stop must not wait for one
const SHOWN_TURNS = 12;
const HELD_MS = 2000;
const MAP_MS = 1000;
const QUIETEST_DB = -80;
const TOKEN = "edgeagent-token";

// --- the token: from the fragment, which no browser sends to a server; kept for bookmarks and other tabs --------------

function token() {
  return localStorage.getItem(TOKEN) ?? "";
}

function takeToken() {
  if (location.hash.length > 1) {
    localStorage.setItem(TOKEN, location.hash.slice(1));
    history.replaceState(null, "", location.pathname);
  }
}

function headers(more = {}) {
  return token() ? { ...more, Authorization: `Bearer ${token()}` } : more;
}

async function ask(what, fields = {}) {
  const answer = await fetch(`/api/${what}`, {
    method: "POST",
    headers: headers({ "Content-Type": "application/json" }),
    body: JSON.stringify(fields),
    signal: AbortSignal.timeout(ASK_MS),
  });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

// --- the stream of news ----------------------------------------------------------------------------------------------

const fresh = { connected: false, locked: false, over: false, lines: [], can: {}, robot: "", model: "", now: 0 };

class Stream {
  constructor(show) {
    this.show = show;
    this.state = fresh;
    this.wake = null;
    this.ending = null;
    this.left = false; // for pages of this browser that were looked at later
    this.id = `${Math.random()}`;
    this.later = new Set();
    this.pages = new BroadcastChannel("edgeagent");
    this.pages.onmessage = ({ data }) => {
      this.later.add(data);
      if (this.later.size < MOST_STREAMS) return;
      this.left = true;
      this.ending?.abort();
    };
    this.run();
  }

  again() {
    this.left = false;
    this.tellPages();
    this.wake?.();
  }

  tellPages() {
    this.later.clear();
    this.pages.postMessage(this.id);
  }

  set(changes) {
    this.state = { ...this.state, ...changes };
    this.show(this.state);
  }

  async run() {
    for (;;) {
      while (this.left || document.visibilityState === "hidden") {
        await new Promise((done) => {
          this.wake = done;
        });
      }
      try {
        await this.listen();
      } catch {
        // whatever it was, it is tried again
      }
      this.set({ connected: false });
      await new Promise((done) => {
        this.wake = done;
        setTimeout(done, AGAIN_MS);
      });
    }
  }

  async listen() {
    const ending = new AbortController();
    this.ending = ending;
    this.tellPages();
    let timer = setTimeout(() => ending.abort(), SILENT_MS);
    try {
      const answer = await fetch("/api/events", { headers: headers(), cache: "no-store", signal: ending.signal });
      if (answer.status === 401) {
        this.set({ locked: true, connected: false });
        return;
      }
      if (!answer.ok) return;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      let first = true;
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        clearTimeout(timer);
        timer = setTimeout(() => ending.abort(), SILENT_MS);
        text += value;
        const parts = text.split("\n\n");
        text = parts.pop();
        for (const part of parts) {
          this.take(JSON.parse(part.slice("data: ".length)), first);
          first = false;
        }
      }
    } finally {
      clearTimeout(timer);
      ending.abort();
    }
  }

  take(news, first) {
    if (news.over) {
      this.set({ connected: false, over: true });
      return;
    }
    const before = first ? fresh : this.state;
    const { lines: changed = [], ...rest } = news;
    const lines = new Map(before.lines.filter((line) => line.n >= news.first).map((line) => [line.n, line]));
    for (const line of changed) lines.set(line.n, line);
    const sorted = changed.length || lines.size !== before.lines.length ? [...lines.values()].sort((a, b) => a.n - b.n) : before.lines;
    this.state = before;
    this.set({ ...rest, lines: sorted, connected: true, locked: false, over: false });
  }
}

// --- parts -----------------------------------------------------------------------------------------------------------

function seconds(value) {
  if (value < 0.0995) return `${Math.round(value * 1000)} ms`;
  return value < 9.95 ? `${value.toFixed(value < 0.995 ? 2 : 1)} s` : `${Math.round(value)} s`;
}

function Level({ level }) {
  if (!level) return null;
  const [db, floor, voiced] = level;
  const share = (value) => Math.min(Math.max((value - QUIETEST_DB) / -QUIETEST_DB, 0), 1) * 100;
  return html`<div class="level" role="meter" aria-label="Microphone" aria-valuemin=${QUIETEST_DB} aria-valuemax="0"
    aria-valuenow=${db} title="Microphone: ${db} dB, room ${floor} dB">
    <div class=${voiced ? "voice" : ""} style=${{ width: `${share(db)}%` }}></div>
    <i style=${{ left: `${share(floor)}%` }}></i>
  </div>`;
}

function Header({ told }) {
  const state = !told.connected ? "not connected" : told.latch === "tripped" ? "stopped" : told.latch === "held" ? "held" : (told.state ?? "");
  return html`<header>
    <h1>${told.robot || "robot"} ${told.model && html`<small>on ${told.model}</small>`}</h1>
    <span class="state ${state.replace(" ", "-")}" role="status" aria-label="State: ${state}">${state}</span>
    ${told.connected && html`<${Level} level=${told.level} />`}
    ${told.can.mute && html`<button class="mute" aria-pressed=${told.muted ? "true" : "false"} disabled=${!told.connected}
      onClick=${() => ask("mute", { on: !told.muted }).catch(() => {})}>${told.muted ? "Unmute" : "Mute"}</button>`}
  </header>`;
}

function Banner({ told, failed }) {
  if (!told.connected) {
    return html`<p class="banner" role="alert"><strong>${told.over ? "The robot’s program has ended" : told.robot || told.locked ? "Not connected" : "Connecting …"}</strong>
      <span>The stop button stops nothing now. Use the robot’s own switch.</span></p>`;
  }
  return failed ? html`<p class="banner" role="alert"><strong>The stop may not have reached the robot</strong><span>Use the robot’s own switch.</span></p>` : null;
}

function Line({ line, now, name }) {
  switch (line.kind) {
    case "you":
      return html`<li class="you"><b>you</b><span>${line.text}${line.understood === false && html` <em>(not understood)</em>`}</span></li>`;
    case "robot": {
      const heard = line.heard ?? null;
      const rest = heard !== null && line.text.startsWith(heard) ? line.text.slice(heard.length) : "";
      return html`<li class="robot"><b title=${name}>${name}</b><span>${rest ? html`${heard}<del aria-label="not said aloud">${rest}</del>` : line.text}${!line.done && html`<i class="cursor" aria-hidden="true"></i>`}</span></li>`;
    }
    case "tool": {
      const running = line.status === "running";
      const took = (running ? now : line.end) - line.t;
      const good = ["ok", "detached", "declined", "running"].includes(line.status);
      return html`<li class="tool ${running ? "running" : good ? "good" : "bad"}">
        <b aria-hidden="true">${running ? "⋯" : good ? "✓" : "✗"}</b>
        <span><code>${[line.name, ...line.arguments].join(" ")}</code> <small>${line.status === "ok" ? "" : `${line.status} · `}${seconds(Math.max(took, 0))}</small>
        ${line.text && html`<span class="result">${line.text}</span>`}</span></li>`;
    }
    case "note":
      return html`<li class="note ${line.tone}"><span>${line.text}</span></li>`;
  }
  return null;
}

function Transcript({ told }) {
  const box = useRef();
  const atEnd = useRef(true);
  useEffect(() => {
    if (atEnd.current) box.current.scrollTop = box.current.scrollHeight;
  });
  const shown = told.lines.filter((line) => line.kind !== "turn");
  const notice = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current;
    atEnd.current = scrollHeight - scrollTop - clientHeight < 40;
  };
  return html`<section class="transcript" aria-label="Conversation">
    <ol ref=${box} onScroll=${notice} role="log" aria-live="polite" tabindex="0">
      ${shown.map((line) => html`<${Line} key=${line.n} line=${line} now=${told.now} name=${told.robot} />`)}
      ${shown.length === 0 && html`<li class="note dim"><span>Nothing was said yet.</span></li>`}
      ${told.partial && html`<li class="you partial"><b>you</b><span>${told.partial} …</span></li>`}
    </ol>
  </section>`;
}

function Picture({ told, name, alt }) {
  const [shown, show] = useState(null);
  const busy = useRef(false);
  const wanted = useRef(null);
  const moving = told.connected && told.lines.some((line) => line.kind === "tool" && line.status === "running");
  const version = told.connected ? told[name] : null;
  const fetchIt = async () => {
    if (busy.current) return;
    busy.current = true;
    const asked = wanted.current;
    try {
      const answer = await fetch(`/api/${name}`, { headers: headers(), cache: "no-store", signal: AbortSignal.timeout(ASK_MS) });
      if (answer.ok) {
        const url = URL.createObjectURL(await answer.blob());
        show((before) => {
          if (before) URL.revokeObjectURL(before);
          return url;
        });
      }
    } catch {
      // the next one comes
    }
    await new Promise((done) => setTimeout(done, MAP_MS));
    busy.current = false;
    if (asked !== wanted.current) fetchIt();
  };
  useEffect(() => {
    wanted.current = version;
    if (version !== null && version !== undefined) fetchIt();
  }, [version]);
  useEffect(() => {
    if (!moving || version === null || version === undefined) return undefined;
    const timer = setInterval(fetchIt, MAP_MS);
    return () => clearInterval(timer);
  }, [moving, version === null]);
  if (!shown) return null;
  return html`<section class="picture" aria-label=${alt}><img src=${shown} alt=${alt} /></section>`;
}

const PARTS = { hear: "understanding", think: "model reads", write: "model writes", tool: "tool", speak: "speaking" };

function Turn({ turn, now, open }) {
  const ends = turn.spans.map((span) => span.end ?? Math.max(now - turn.t, span.start));
  const total = Math.max((turn.end ?? now) - turn.t, ...ends, 0.001);
  const bar = (span, i) => html`<i class=${span.kind} style=${{ left: `${(span.start / total) * 100}%`, width: `max(2px, ${((ends[i] - span.start) / total) * 100}%)` }}></i>`;
  const title = turn.text || "by itself";
  return html`<li>
    <div class="head"><span>${title}</span><small>${turn.reason && `${turn.reason} · `}${seconds(total)}</small></div>
    ${open
      ? html`<table><tbody>${turn.spans.map((span, i) => html`<tr>
          <th scope="row">${span.kind === "tool" ? span.label : PARTS[span.kind]}</th>
          <td class="bars">${bar(span, i)}</td><td class="took">${seconds(ends[i] - span.start)}</td></tr>`)}</tbody></table>`
      : html`<div class="bars" role="img" aria-label=${turn.spans.map((span, i) => `${span.kind === "tool" ? span.label : PARTS[span.kind]} ${seconds(ends[i] - span.start)}`).join(", ")}>${turn.spans.map(bar)}</div>`}
  </li>`;
}

function Times({ told }) {
  const turns = told.lines.filter((line) => line.kind === "turn").slice(-SHOWN_TURNS).reverse();
  if (!turns.length) return null;
  const now = told.now;
  return html`<section class="times" aria-label="Where the time went"><h2>Where the time went</h2>
    <p class="legend">${Object.entries(PARTS).map(([kind, text]) => (told.can.aloud || !["hear", "speak"].includes(kind)) && html`<span><i class=${kind}></i>${text}</span>`)}</p>
    <ol>${turns.map((turn, i) => html`<${Turn} key=${turn.n} turn=${turn} now=${now} open=${i === 0} />`)}</ol>
  </section>`;
}

function Footer({ told, stop, stopping, complain }) {
  const [text, type] = useState("");
  const question = told.connected ? told.question : null;
  const answer = (words) => ask("answer", { question: question[0], text: words }).catch((error) => complain(error.message));
  const send = (event) => {
    event.preventDefault();
    const words = text.trim();
    if (!words || !told.connected) return;
    const sent = question ? ask("answer", { question: question[0], text: words }) : ask("say", { text: words, stops: told.stops });
    sent.then(() => type(""), (error) => complain(`not sent: ${error.message}`));
  };
  const [held, hold] = useState(false); // a stop word holds for a moment until it is clear that it was meant
  useEffect(() => {
    if (!told.connected || told.latch !== "held") return hold(false);
    const timer = setTimeout(() => hold(true), HELD_MS);
    return () => clearTimeout(timer);
  }, [told.connected, told.latch]);
  const stopped = told.connected && (told.latch === "tripped" || (told.latch === "held" && held));
  const goOn = () => ask("continue", { stops: told.stops }).then(
    (result) => result.latch !== "free" && complain("It is still stopped; the robot says why."),
    (error) => complain(error.message));
  return html`<footer>
    ${question && html`<div class="question" role="alertdialog" aria-label="The robot asks"><span>${question[1]}</span>
      ${question[2] && html`<button class="yes" onClick=${() => answer("yes")}>Yes</button><button class="no" onClick=${() => answer("no")}>No</button>`}</div>`}
    ${stopped && html`<div class="halted" role="status"><span><strong>${told.latch === "tripped" ? "Stopped" : "Held"}</strong>${told.reason && `: ${told.reason}`}</span>
      <button class="again" onClick=${goOn}>It may move again</button></div>`}
    <div class="row">
      ${told.can.say !== false
        ? html`<form onSubmit=${send}><input type="text" name="line" autocomplete="off" enterkeyhint="send" maxlength="2000" aria-label="Say something to the robot"
            placeholder=${question ? "answer" : "type to the robot"} value=${text} onInput=${(event) => type(event.target.value)} disabled=${!told.connected} />
            <button class="send" disabled=${!told.connected || !text.trim()}>Send</button></form>`
        : html`<p class="unsaid">Its lines come from a script; stop works.</p>`}
      <button class="stop ${told.connected ? "" : "dead"}" onClick=${stop} aria-label=${told.connected ? "Stop the robot. Key: Escape" : "Stop button: not connected, stops nothing"}>
        ${told.connected ? html`<span>${stopping ? "Stopping …" : "STOP"}</span><kbd>Esc</kbd>` : html`<span>STOP</span><small>stops nothing now</small>`}</button>
    </div>
  </footer>`;
}

function Lock({ stream }) {
  const [text, type] = useState("");
  const open = (event) => {
    event.preventDefault();
    localStorage.setItem(TOKEN, text.trim().split("#").pop());
    stream.again();
  };
  return html`<form class="lock" onSubmit=${open}><label for="token">This robot asks for a token: the part after # of the address that edgeagent printed.</label>
    <input id="token" type="password" autocomplete="off" value=${text} onInput=${(event) => type(event.target.value)} /><button class="send">Open</button></form>`;
}

let stream = null;

function Page() {
  const [told, tell] = useState(fresh);
  const [failed, fail] = useState(false);
  const [stopping, stopIt] = useState(0);
  const [complaint, complain] = useState("");
  useEffect(() => {
    stream = new Stream(tell);
    const again = () => document.visibilityState === "visible" && stream.again();
    for (const name of ["online", "focus", "pageshow"]) addEventListener(name, again);
    document.addEventListener("visibilitychange", again);
  }, []);
  const stop = () => {
    stopIt((count) => count + 1);
    fail(false);
    ask("stop").catch(() => fail(true)).finally(() => stopIt((count) => count - 1));
  };
  useEffect(() => {
    const press = (event) => {
      if (event.key === "Escape" && !event.repeat) {
        event.preventDefault();
        stop();
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  useEffect(() => {
    if (failed && told.connected && told.latch === "tripped") fail(false);
  }, [failed, told.connected, told.latch]);
  useEffect(() => {
    if (!complaint) return undefined;
    const timer = setTimeout(() => complain(""), 6000);
    return () => clearTimeout(timer);
  }, [complaint]);
  useEffect(() => {
    document.title = `${told.connected ? "" : "✗ "}${told.robot || "edgeagent"}`;
  }, [told.connected, told.robot]);
  return html`
    <${Banner} told=${told} failed=${failed} />
    <${Header} told=${told} />
    ${told.locked && !told.connected && html`<${Lock} stream=${stream} />`}
    <main class=${told.connected ? "" : "stale"}><${Transcript} told=${told} /><div class="side"><${Picture} told=${told} name="map" alt="The map of the robot" /><${Picture} told=${told} name="picture" alt="The newest picture of a tool" /><${Times} told=${told} /></div></main>
    ${complaint && html`<p class="complaint" role="alert">${complaint}</p>`}
    <${Footer} told=${told} stop=${stop} stopping=${stopping > 0} complain=${complain} />`;
}

takeToken();
addEventListener("hashchange", () => {
  takeToken();
  stream?.again();
});
const root = document.getElementById("page");
root.textContent = "";
render(html`<${Page} />`, root);
