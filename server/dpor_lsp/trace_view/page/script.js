"use strict";
(() => {
  const trace = JSON.parse(document.getElementById("trace").textContent);
  const host = typeof acquireVsCodeApi === "function" ? acquireVsCodeApi() : null;
  const find = (id) => document.getElementById(id);
  const steps = trace.steps;
  const lanes = trace.threads;
  const laneOf = new Map(lanes.map((lane, number) => [lane.id, { ...lane, number }]));
  const lines = new Map(Object.entries(trace.sources).map(([file, text]) => [file, text.split(/\r\n|\r|\n/)]));
  const CONTEXT = 4;
  const NARROWEST = 17;
  const MANY = 1000;
  const LANE_COLORS = 6;

  const title = (lane) => (lane.name === lane.id ? lane.id : `${lane.name} (${lane.id})`);
  const colour = (element, lane) => element.style.setProperty("--lane", `var(--lane-${laneOf.get(lane).number % LANE_COLORS})`);
  const shown = (value) => (value === null || value === undefined ? "–" : value);
  const placeOf = (step) => step.call_site || step.location;
  const lineAt = (place) => (place && lines.has(place.file) ? lines.get(place.file)[place.line - 1] || "" : "");

  function make(tag, className, text) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  // The state after each step, as what changed when: for a variable, its values in the order in which it had them.
  const histories = new Map(trace.variables.map((variable) => [variable.name, [{ step: 0, value: variable.initial }]]));
  for (const step of steps) {
    for (const change of step.changes) histories.get(change.variable)?.push({ step: step.index, value: change.after });
  }
  function valueAt(name, step) {
    const history = histories.get(name);
    let low = 0, high = history.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (history[middle].step <= step) low = middle; else high = middle - 1;
    }
    return history[low].value;
  }
  const touches = (step, name) => step.reads.includes(name) || step.changes.some((change) => change.variable === name);

  // What the user has chosen.
  const chosen = { step: 0, matters: false, changes: false, variable: "", hidden: new Set(), ...(host?.getState?.() || {}) };
  chosen.hidden = new Set(chosen.hidden);
  chosen.step = Math.min(Math.max(0, chosen.step), steps.length);

  const rows = new Map();
  let visible = [];

  function passes(step) {
    if (chosen.hidden.has(step.thread)) return false;
    const failed = trace.failure && trace.failure.step === step.index;
    if (chosen.matters && !step.matters) return false;
    if (chosen.changes && !step.changes.length && !failed) return false;
    if (chosen.variable && !touches(step, chosen.variable) && !failed) return false;
    return true;
  }

  function summary() {
    find("model").textContent = trace.model;
    const verdict = find("verdict");
    if (trace.failure) {
      verdict.append(make("span", "broken", `${trace.failure.code} ${trace.failure.kind}`));
      verdict.append(`${trace.failure.pattern ? ` (${trace.failure.pattern})` : ""}: ${trace.failure.message}`);
    } else {
      verdict.textContent = trace.divergence ? "The schedule could not be followed to its end." : "Nothing breaks on this schedule.";
    }
    const parameters = Object.entries(trace.parameters).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
    if (parameters.length) verdict.append(` · ${parameters.join(", ")}`);
    const notes = [];
    if (trace.changed) notes.push("The model's code has changed since this schedule was made.");
    if (trace.divergence) notes.push(`The replay diverged at ${trace.divergence}.`);
    find("note").textContent = notes.join(" ");
    find("note").hidden = !notes.length;
  }

  function heads() {
    find("grid").style.setProperty("--columns", `4.5em repeat(${lanes.length}, minmax(${NARROWEST}em, 1fr))`);
    find("grid").style.setProperty("--narrowest", `${4.5 + NARROWEST * lanes.length}em`);
    find("grid").setAttribute("aria-rowcount", String(steps.length + 2));
    find("grid").setAttribute("aria-colcount", String(lanes.length + 1));
    const head = make("div", "", "Step");
    head.setAttribute("role", "columnheader");
    find("heads").append(head);
    for (const lane of lanes) {
      const cell = make("div", "lane", title(lane));
      cell.setAttribute("role", "columnheader");
      cell.title = lane.parent === null ? "runs the model" : lane.kind === "task" ? `asyncio task of ${lane.parent}` : `started by ${lane.parent} in step ${lane.since}`;
      colour(cell, lane.id);
      find("heads").append(cell);
      const label = make("label", "lane");
      const box = make("input");
      box.type = "checkbox";
      box.checked = !chosen.hidden.has(lane.id);
      box.addEventListener("change", () => {
        if (box.checked) chosen.hidden.delete(lane.id); else chosen.hidden.add(lane.id);
        filter();
      });
      label.append(box, lane.id);
      label.title = `Show the steps of ${title(lane)}`;
      colour(label, lane.id);
      find("threads").append(label);
    }
    find("rows").classList.toggle("many", steps.length > MANY);
    const backs = make("div", "lines");
    backs.setAttribute("role", "presentation");
    backs.append(make("span"), ...lanes.map(() => make("div")));
    find("rows").append(backs);
  }

  function rowOf(index, label) {
    const row = make("div", "row");
    row.id = `step-${index}`;
    row.dataset.step = String(index);
    row.setAttribute("role", "row");
    row.setAttribute("aria-rowindex", String(index + 2));
    row.setAttribute("aria-selected", "false");
    row.setAttribute("aria-label", label);
    const number = make("div", "number", String(index));
    number.setAttribute("role", "rowheader");
    row.append(number);
    rows.set(index, row);
    find("rows").append(row);
    return row;
  }

  function opener(place, text) {
    const link = make("button", "link", text || `${place.file}:${place.line}`);
    link.type = "button";
    link.tabIndex = -1;
    link.title = `Open ${place.file}, line ${place.line}`;
    link.dataset.file = place.file;
    link.dataset.line = String(place.line);
    link.dataset.column = String(place.column);
    return link;
  }

  function describeChange(change) {
    const element = make("div", "change");
    element.append(`${change.variable}: ${shown(change.before)} → `, make("span", "after", shown(change.after)));
    if (!change.written) element.append(" (found so)");
    return element;
  }

  function wordsOf(step) {
    const place = placeOf(step);
    const changed = step.changes.map((change) => `${change.variable}: ${shown(change.before)} → ${shown(change.after)}`);
    return [`Step ${step.index}, ${step.thread}: ${step.phrase}`, place ? `${place.file} line ${place.line}` : "", ...changed].filter(Boolean).join("; ");
  }

  function build() {
    const start = rowOf(0, "Before the first step");
    const begin = make("div", "cell", "before the first step");
    begin.setAttribute("role", "gridcell");
    begin.style.gridColumn = "2";
    colour(begin, lanes[0].id);
    start.append(begin);
    const waitsAt = new Map();
    for (const wait of trace.waits) waitsAt.set(wait.since, [...(waitsAt.get(wait.since) || []), wait]);
    for (const step of steps) {
      const row = rowOf(step.index, wordsOf(step));
      const cell = make("div", "cell");
      cell.setAttribute("role", "gridcell");
      cell.setAttribute("aria-colindex", String(laneOf.get(step.thread).number + 2));
      cell.style.gridColumn = String(laneOf.get(step.thread).number + 2);
      cell.style.gridRow = "1";
      colour(cell, step.thread);
      const place = placeOf(step);
      if (place) {
        const source = make("span", "source");
        source.append(opener(place, `${place.line}`), ` ${lineAt(place).trim()}`);
        cell.append(source);
      }
      cell.append(make("span", "phrase", step.phrase));
      const silent = step.changes.length === 1 && step.changes[0].variable === step.target && step.operation === "store";
      for (const change of step.changes) if (!silent || change.before !== null) cell.append(describeChange(change));
      row.append(cell);
      if (!step.matters) row.classList.add("faint");
      if (trace.failure && trace.failure.step === step.index) row.classList.add("failed");
      for (const wait of waitsAt.get(step.index) || []) {
        if (wait.thread === step.thread && !row.classList.contains("failed")) continue;
        if (wait.thread === step.thread) {
          cell.append(make("div", "", wait.phrase));
          continue;
        }
        const mark = make("div", "wait", wait.phrase);
        mark.setAttribute("role", "gridcell");
        mark.style.gridColumn = String(laneOf.get(wait.thread).number + 2);
        mark.style.gridRow = "1";
        colour(mark, wait.thread);
        row.append(mark);
      }
    }
  }

  function filter() {
    visible = [0];
    let former = null;
    for (const step of steps) {
      const row = rows.get(step.index);
      const shows = passes(step);
      row.hidden = !shows && step.index !== chosen.step;
      if (row.hidden) continue;
      if (shows) visible.push(step.index);
      const place = placeOf(step);
      const same = former && former.thread === step.thread && place && placeOf(former) && placeOf(former).file === place.file && placeOf(former).line === place.line;
      // A line's text stands once, at the first of the steps that it takes in a row.
      row.classList.toggle("turn", !former || former.thread !== step.thread);
      const source = row.querySelector(".source");
      if (source) source.hidden = Boolean(same);
      former = step;
    }
    const nothing = visible.length === 1 && steps.length > 0;
    find("nothing").hidden = !nothing;
    find("only-matters").checked = chosen.matters;
    find("only-changes").checked = chosen.changes;
    find("variable").value = chosen.variable;
    remember();
    position();
  }

  function remember() {
    host?.setState?.({ ...chosen, hidden: [...chosen.hidden] });
  }

  function position() {
    find("slider").max = String(steps.length);
    find("slider").value = String(chosen.step);
    const hiddenCount = steps.length - (visible.length - 1);
    find("position").textContent = `step ${chosen.step} of ${steps.length}${hiddenCount ? ` (${hiddenCount} hidden)` : ""}`;
    find("slider").setAttribute("aria-valuetext", find("position").textContent);
    find("first").disabled = find("previous").disabled = chosen.step === 0;
    find("next").disabled = find("last").disabled = chosen.step >= Math.max(...visible);
  }

  let selected = null;
  let reached = steps.length;
  function reveal() {
    // The cell, not the row: where the columns are wider than the window, the thread that acts must be in view.
    selected.querySelector(".cell").scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  function select(index, tell = true) {
    const step = Math.min(Math.max(0, index), steps.length);
    const moved = step !== chosen.step;
    chosen.step = step;
    if (selected) {
      selected.setAttribute("aria-selected", "false");
      const former = steps[Number(selected.dataset.step) - 1];
      if (former && !passes(former)) selected.hidden = true;
    }
    selected = rows.get(step);
    selected.hidden = false;
    selected.setAttribute("aria-selected", "true");
    find("grid").setAttribute("aria-activedescendant", selected.id);
    for (let number = Math.min(reached, step) + 1; number <= Math.max(reached, step); number++) {
      rows.get(number).classList.toggle("later", number > step);
    }
    reached = step;
    reveal();
    // Rows that were never drawn have an estimated height; drawing them can move what has just been scrolled to.
    if (steps.length > MANY) requestAnimationFrame(reveal);
    position();
    details();
    remember();
    if (tell && moved) host?.postMessage({ type: "goto", step });
  }

  function values(table, entries) {
    table.replaceChildren();
    for (const [name, value, before, changed] of entries) {
      const row = make("tr", changed ? "changed" : "");
      row.append(make("td", "", name), make("td", value === null ? "absent" : "", value === null ? "not there yet" : value));
      if (before !== undefined) row.append(make("td", "", changed ? shown(before) : ""));
      table.append(row);
    }
  }

  function details() {
    const step = steps[chosen.step - 1];
    find("what").textContent = step ? `${step.index}. ${step.thread} ${step.phrase}` : "Before the first step";
    find("live").textContent = step ? wordsOf(step) : "Before the first step";
    const frames = step ? framesAt(step.thread, step.index) : [];
    const place = step && (placeOf(step) || frames[0]?.location);
    find("where").replaceChildren(...(place ? [opener(place), ...(frames.length ? [` in ${functionAt(frames, place)}`] : [])] : []));
    for (const link of find("where").querySelectorAll("button")) link.tabIndex = 0;
    showSource(place);
    const changes = new Map(step ? step.changes.map((change) => [change.variable, change]) : []);
    const entries = trace.variables
      .filter((variable) => !find("only-shared").checked || variable.threads.length > 1)
      .filter((variable) => !find("hide-unchanged").checked || histories.get(variable.name).length > 2 || (variable.initial !== null && histories.get(variable.name).length > 1))
      .map((variable) => [variable.name, valueAt(variable.name, chosen.step), changes.get(variable.name)?.before ?? null, changes.has(variable.name)]);
    values(find("state").tBodies[0], entries);
    const locals = find("locals");
    locals.replaceChildren();
    for (const frame of frames) {
      if (frames.length > 1) locals.append(make("div", "frame", frame.function));
      const table = make("table", "values");
      values(table.createTBody(), frame.locals.map((local) => [local.name, local.value]));
      locals.append(table);
    }
    if (!frames.some((frame) => frame.locals.length)) locals.replaceChildren(make("span", "absent", "none"));
    const holdings = find("holdings");
    holdings.replaceChildren();
    for (const item of step ? step.holdings : []) {
      const owned = item.owners.length ? `held by ${item.owners.join(", ")}` : "";
      const ended = item.owners.length === 1 && item.owners[0] === item.resource ? "still runs" : owned;
      const waited = item.waiting.length ? `${item.waiting.join(", ")} ${item.waiting.length > 1 ? "wait" : "waits"} for it` : "";
      holdings.append(make("div", "place", `${item.resource}: ${[ended, waited].filter(Boolean).join("; ")}`));
    }
    if (!holdings.childNodes.length) holdings.append(make("span", "absent", "nothing"));
    const places = find("places");
    places.replaceChildren();
    for (const lane of lanes) places.append(whereIs(lane));
  }

  const functionAt = (frames, place) => (frames.find((frame) => frame.location.file === place.file && frame.location.line === place.line) || frames[0]).function;

  function lastStepOf(lane, step) {
    for (let index = step; index >= 1; index--) if (steps[index - 1].thread === lane && placeOf(steps[index - 1])) return steps[index - 1];
    return null;
  }

  function framesAt(lane, step) {
    return lastStepOf(lane, step)?.frames || [];
  }

  function waitAt(lane, step) {
    return trace.waits.find((wait) => wait.thread === lane && wait.since <= step && (wait.until === null || step < wait.until));
  }

  function whereIs(lane) {
    const element = make("div", "place");
    const name = make("b", "", title(lane));
    colour(name, lane.id);
    element.append(name, " ");
    const wait = waitAt(lane.id, chosen.step);
    const last = lastStepOf(lane.id, chosen.step);
    if (chosen.step < lane.since) element.append("not started yet");
    else if (lane.until !== null && chosen.step >= lane.until) element.append("has ended");
    else if (wait) {
      const frame = wait.frames.find((candidate) => candidate.first_party) || wait.frames[0];
      if (frame) element.append(opener(frame.location), " ");
      element.append(wait.phrase);
    } else if (last) element.append(opener(placeOf(last)), ` ${last.phrase}`);
    else element.append("has not done anything yet");
    return element;
  }

  function showSource(place) {
    const code = find("code");
    code.replaceChildren();
    code.hidden = !place || !lines.has(place.file);
    if (code.hidden) return;
    const text = lines.get(place.file);
    const from = Math.max(1, place.line - CONTEXT);
    const to = Math.min(text.length, place.line + CONTEXT);
    for (let number = from; number <= to; number++) {
      const line = make("span", number === place.line ? "codeline here" : "codeline");
      if (number === place.line) line.setAttribute("aria-current", "true");
      line.append(make("span", "no", String(number)), text[number - 1] || " ");
      code.append(line);
    }
  }

  function open(place) {
    if (host) host.postMessage({ type: "open", file: place.file, line: place.line, column: place.column });
    else showSource(place);
  }

  function go(direction, sameThread) {
    const lane = steps[chosen.step - 1]?.thread;
    const order = direction > 0 ? visible : [...visible].reverse();
    const target = order.find((index) => (index - chosen.step) * direction > 0 && (!sameThread || !lane || steps[index - 1]?.thread === lane));
    if (target !== undefined) select(target);
  }

  function goChange(direction) {
    const order = direction > 0 ? steps : [...steps].reverse();
    const target = order.find((step) => (step.index - chosen.step) * direction > 0 && step.changes.some((change) => !chosen.variable || change.variable === chosen.variable));
    if (target) select(target.index);
  }

  function text() {
    const listed = visible.slice(1).map((index) => steps[index - 1]);
    const table = listed.map((step) => {
      const place = placeOf(step);
      const changes = step.changes.map((change) => `${change.variable}: ${shown(change.before)} → ${shown(change.after)}`).join(", ");
      return [String(step.index), step.thread, step.phrase, place ? `${place.file}:${place.line}` : "", changes];
    });
    const widths = [0, 1, 2, 3].map((column) => Math.max(0, ...table.map((row) => row[column].length)));
    const written = table.map((row) => `${row[0].padStart(widths[0])}  ${row[1].padEnd(widths[1])}  ${row[2].padEnd(widths[2])}  ${row[3].padEnd(widths[3])}  ${row[4]}`.trimEnd());
    const head = [trace.model, trace.failure ? `${trace.failure.code} ${trace.failure.kind}: ${trace.failure.message}` : ""].filter(Boolean);
    const waits = trace.waits.filter((wait) => wait.until === null && trace.failure?.kind.endsWith("lock")).map((wait) => `${wait.thread} ${wait.phrase}`);
    return `${[...head, "", ...written, ...(waits.length ? ["", ...waits] : []), "", trace.schedule].join("\n")}\n`;
  }

  async function copy() {
    const content = text();
    let done = true;
    try {
      await navigator.clipboard.writeText(content);
    } catch {
      const area = make("textarea");
      area.value = content;
      document.body.append(area);
      area.select();
      done = document.execCommand("copy");
      area.remove();
    }
    find("status").textContent = done ? `Copied ${visible.length - 1} steps.` : "The browser does not allow copying.";
  }

  const edge = (end) => select(end ? visible[visible.length - 1] : 0);
  const page = (direction) => {
    const at = visible.reduce((best, index, number) => (index <= chosen.step ? number : best), 0);
    select(visible[Math.min(Math.max(0, at + 10 * direction), visible.length - 1)]);
  };
  const toggle = (name) => { chosen[name] = !chosen[name]; filter(); };
  const openCurrent = () => { const place = steps[chosen.step - 1] && placeOf(steps[chosen.step - 1]); if (place) open(place); };
  const keys = {
    ArrowDown: (shift) => go(1, shift), ArrowRight: (shift) => go(1, shift), j: () => go(1), J: () => go(1, true),
    ArrowUp: (shift) => go(-1, shift), ArrowLeft: (shift) => go(-1, shift), k: () => go(-1), K: () => go(-1, true),
    Home: () => edge(false), End: () => edge(true), PageDown: () => page(1), PageUp: () => page(-1),
    "]": () => goChange(1), "[": () => goChange(-1),
    m: () => toggle("matters"), h: () => toggle("changes"), c: () => copy(), Enter: openCurrent,
  };

  function listen() {
    document.addEventListener("keydown", (event) => {
      const target = event.target;
      const typing = target instanceof HTMLElement && (target.matches("select, textarea") || (target.matches("input, button") && ["Enter", " "].includes(event.key)) || (target.matches("#slider") && event.key.startsWith("Arrow")));
      if (typing || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
      event.preventDefault();
      keys[event.key](event.shiftKey);
    });
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.(".link");
      const row = event.target.closest?.(".row");
      if (row) select(Number(row.dataset.step));
      if (link) open({ file: link.dataset.file, line: Number(link.dataset.line), column: Number(link.dataset.column) });
    });
    find("first").addEventListener("click", () => edge(false));
    find("last").addEventListener("click", () => edge(true));
    find("previous").addEventListener("click", () => go(-1));
    find("next").addEventListener("click", () => go(1));
    find("slider").addEventListener("input", () => select(Number(find("slider").value)));
    find("only-matters").addEventListener("change", () => toggle("matters"));
    find("only-changes").addEventListener("change", () => toggle("changes"));
    find("hide-unchanged").addEventListener("change", details);
    find("only-shared").addEventListener("change", details);
    find("variable").addEventListener("change", () => { chosen.variable = find("variable").value; filter(); });
    find("copy").addEventListener("click", copy);
    find("clear").addEventListener("click", () => {
      Object.assign(chosen, { matters: false, changes: false, variable: "" });
      chosen.hidden.clear();
      for (const box of find("threads").querySelectorAll("input")) box.checked = true;
      filter();
    });
    window.addEventListener("message", (event) => {
      const message = event.data;
      if (message && message.type === "step" && Number.isInteger(message.step)) select(message.step, false);
      if (message && message.type === "reference") {
        // What the editor has to know of this page when it opens it again.
        chosen.reference = message.reference;
        remember();
      }
    });
  }

  summary();
  const all = make("option", "", "all");
  all.value = "";
  find("variable").append(all, ...trace.variables.map((variable) => Object.assign(make("option", "", variable.name), { value: variable.name })));
  if (!trace.variables.some((variable) => variable.name === chosen.variable)) chosen.variable = "";
  heads();
  build();
  listen();
  filter();
  select(chosen.step, false);
  find("grid").focus({ preventScroll: true });
})();
