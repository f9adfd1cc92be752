// Charts show the values under the pointer, zoom together, and hide series. They are drawings until
// one is changed; then Vega, from the file beside the page or from the page, draws all again. What
// is shown stands in the address: #from=...&to=...&hide=..., times in UTC.
(() => {
  const MOST_TEXTS = 5;
  const MOST_POINTS = 400; // of a series: charts have no pixels for more
  const PAUSE = 1000; // ms: changes that follow sooner are one step of the history
  const SECOND = 1000; // ms, also the shortest span
  const CLICK = 5; // pixels: a shorter drag is none
  const section = document.getElementById("charts");
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const clamp = (value, least, most) => Math.min(Math.max(value, least), most);
  const state = { from: null, to: null, hidden: new Set(), cursor: null };

  function element(tag, name, parent, attributes = {}) {
    const made = parent.appendChild(document.createElement(tag));
    made.className = name;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  // Index of the first time that is not before another.
  function since(times, time) {
    let low = 0;
    for (let high = times.length; low < high;) {
      const middle = (low + high) >> 1;
      if (times[middle] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // Points with times instead of distances, and the span that they cover.
  function level(points, from = -Infinity, to = Infinity) {
    let at = 0;
    return { low: null, high: null, clocks: null, repeated: null, ...points, times: points.times.map((d) => (at += d)), from, to };
  }

  class Chart {
    constructor(card) {
      Object.assign(this, JSON.parse(card.querySelector("script.points").textContent));
      this.card = card;
      this.name = card.id.slice(2);
      this.band = `${this.name}_band`;
      this.levels = this.levels.map((points) => level(points));
      this.choose();
      this.first = this.times[0];
      this.last = this.times.at(-1);
      this.plot = card.querySelector(".plot");
      this.still = this.plot.querySelector("svg");
      this.marked = marks.filter((mark) =>
        !mark.rule || mark.rule === this.rule || this.areas.includes(mark.area));
      this.over = element("div", "over", this.plot, {
        tabindex: 0, role: "slider", "aria-label": `${card.querySelector("h3").textContent}: time`,
        "aria-describedby": "zoom-keys", "aria-valuemin": 0, "aria-valuemax": this.times.length - 1,
      });
      this.bands = element("div", "bands", this.plot);
      this.brush = element("div", "brush", this.over);
      this.cross = element("div", "cross", this.over);
      this.tip = element("div", "tip", card);
      this.values_ = element("details", "values", card);
      element("summary", "", this.values_).textContent = "Values";
      this.values_.addEventListener("toggle", () => this.tabulate());
      card.querySelectorAll(".legend button").forEach((button) => {
        button.addEventListener("click", () => toggle(this.key(button.textContent.trim())));
      });
      this.listen();
      this.place();
      this.value(this.times.length - 1);
    }

    key(series) {
      return `${this.name}:${series}`;
    }

    get span() {
      return state.from === null ? [this.first, this.last] : [state.from, state.to];
    }

    // Local time as milliseconds: what Vega takes for UTC.
    local(time, offsets = this.offsets) {
      const n = clamp(since(this.times, time), 0, this.times.length - 1);
      let ahead = 0;
      for (const [from, offset] of offsets) if (n >= from) ahead = offset;
      return time + ahead;
    }

    // A time as tables show it: one that clocks show twice has its offset.
    clock(time) {
      const local = this.local(time, this.clocks ?? this.offsets);
      const text = new Date(local).toISOString().slice(0, 19).replace("T", " ");
      if (!this.repeated?.some(([begin, end]) => time >= begin && time < end)) return text;
      const minutes = Math.round((local - time) / 60000);
      const [hours, rest] = [Math.abs(minutes) / 60, Math.abs(minutes) % 60]
        .map((part) => String(Math.trunc(part)).padStart(2, "0"));
      return `${text} ${minutes < 0 ? "-" : "+"}${hours}${rest === "00" ? "" : `:${rest}`}`;
    }

    get shown() {
      return this.names.map((_, s) => s).filter((s) => !state.hidden.has(this.key(this.names[s])));
    }

    // Indexes of the times in the span: begin, and end behind the last. Addresses have whole seconds.
    get range() {
      return this.within(this.times);
    }

    within(times) {
      const [from, to] = this.span.map((time) => Math.floor(time / SECOND) * SECOND);
      return [since(times, from), since(times, to + SECOND)];
    }

    // Shows the finest points of the span, if they are not too many.
    choose() {
      const fits = (points) => {
        const [begin, end] = this.within(points.times);
        return points.from <= state.from && points.to >= state.to && end - begin <= MOST_POINTS;
      };
      const finer = state.from === null ? [] : this.levels.slice(1).filter(fits);
      Object.assign(this, finer.at(-1) ?? this.levels[0]);
    }

    // Adds points behind the last one.
    extend(points) {
      const [all] = this.levels;
      const { low, high, values, times } = this.ordered(points);
      times.forEach((time, n) => {
        if (time <= all.times.at(-1)) return;
        all.times.push(time);
        all.values.forEach((of, s) => of.push(values[s][n]));
        all.low?.forEach((of, s) => of.push((low ?? values)[s][n]));
        all.high?.forEach((of, s) => of.push((high ?? values)[s][n]));
      });
      this.last = all.times.at(-1);
      this.over.setAttribute("aria-valuemax", all.times.length - 1);
    }

    // Adds the points of a span, in which not all series may have a line.
    refine(points, from, to) {
      this.levels.push(this.ordered(points, from, to));
      this.choose();
    }

    ordered({ names, ...points }, from, to) {
      const series = (of) => this.names.map((name) =>
        of[names.indexOf(name)] ?? points.times.map(() => ""));
      const bands = points.low && { low: series(points.low), high: series(points.high) };
      return level({ ...points, values: series(points.values), ...bands }, from, to);
    }

    // The points in the span, and the next one on either side, so that lines reach the edges.
    rows() {
      const [begin, end] = this.range;
      const rows = [];
      for (const s of this.shown) {
        for (let n = Math.max(begin - 1, 0); n < Math.min(end + 1, this.times.length); n += 1) {
          const value = this.values[s][n];
          const time = this.local(this.times[n]);
          const ends = this.low ? { low: this.low[s][n], high: this.high[s][n] } : {};
          if (value !== "") rows.push({ time, series: this.names[s], value, place: s, ...ends });
        }
      }
      return rows;
    }

    // The data of each layer; points that are one interval have no band.
    datasets() {
      const rows = this.rows();
      const isBanded = this.spec.layer.some((layer) => layer.data?.name === this.band);
      return { [this.name]: rows, ...(isBanded && { [this.band]: this.low ? rows : [] }) };
    }

    async draw() {
      const span = this.span.map((time) => this.local(time));
      if (!this.view) {
        const box = element("div", "live", this.plot);
        const spec = {
          ...this.spec, config, params: [{ name: "span", value: span }],
          datasets: { ...this.spec.datasets, ...this.datasets() },
        };
        const options = {
          mode: "vega-lite", ast: true, renderer: "svg", actions: false, tooltip: false,
          defaultStyle: false, logLevel: 1,
        };
        const { view } = await window.vegaEmbed(box, spec, options);
        this.view = view;
        ["role", "aria-label", "aria-roledescription"].forEach((name) => box.removeAttribute(name));
        this.drawing = box.querySelector("svg");
        this.drawing.setAttribute("role", "img");
        this.drawing.setAttribute("aria-labelledby", this.still.getAttribute("aria-labelledby"));
        this.still.classList.add("replaced");
      } else {
        for (const [name, rows] of Object.entries(this.datasets())) this.view.data(name, rows);
        await this.view.signal("span", span).runAsync();
      }
      this.place();
    }

    // Lays the marks over the plot, in shares of the drawing: it may be shown at any size.
    place() {
      const outer = this.plot.getBoundingClientRect();
      const inner = (this.drawing || this.still)
        .querySelector(".role-frame path.background").getBoundingClientRect();
      if (!outer.width) return;
      const share = (value, whole) => `${(100 * value) / whole}%`;
      for (const { style } of [this.over, this.bands]) {
        Object.assign(style, {
          left: share(inner.left - outer.left, outer.width),
          top: share(inner.top - outer.top, outer.height),
          width: share(inner.width, outer.width),
          height: share(inner.height, outer.height),
        });
      }
      const [from, to] = this.span;
      const long = Math.max(to - from, 1);
      this.bands.replaceChildren();
      for (const mark of this.marked) {
        if (mark.end < from || mark.begin > to) continue;
        const band = element("div", mark.kind, this.bands);
        band.style.left = share(Math.max(mark.begin, from) - from, long);
        band.style.width = share(Math.min(mark.end, to) - Math.max(mark.begin, from), long);
      }
      this.point();
    }

    // Draws the cursor where it is; its values stand in the chart that it was moved in.
    point() {
      const [from, to] = this.span;
      const at = state.cursor;
      const inside = at !== null && at > from - SECOND && at < to + SECOND;
      this.cross.style.display = inside ? "block" : "none";
      const share = clamp((at - from) / Math.max(to - from, 1), 0, 1);
      if (inside) this.cross.style.left = `calc(${100 * share}% - ${share}px)`;
    }

    text(s, n) {
      const [value, low, high] = [this.values, this.low, this.high].map((of) => of?.[s][n]);
      if (typeof value !== "number") return "not known";
      const text = value.toLocaleString("en");
      if (typeof low !== "number" || low === high) return text;
      return `${text} (${low.toLocaleString("en")} to ${high.toLocaleString("en")})`;
    }

    value(n) {
      const values = this.shown.map((s) => `${this.names[s]} ${this.text(s, n)}`);
      this.over.setAttribute("aria-valuenow", n);
      this.over.setAttribute("aria-valuetext", [this.clock(this.times[n]), ...values].join(", "));
    }

    // What happened at a time: within the distance of its neighbours.
    happened(n) {
      const before = this.times[Math.max(n - 1, 0)];
      const texts = this.marked
        .filter((mark) => mark.begin <= this.times[n] && mark.end > (n ? before : before - 1))
        .map((mark) => mark.text);
      const more = texts.length - MOST_TEXTS;
      return more > 0 ? [...texts.slice(0, MOST_TEXTS), `and ${more} more`] : texts;
    }

    show(n) {
      if (shower && shower !== this) shower.hide();
      shower = this;
      state.cursor = this.times[n];
      charts.forEach((chart) => chart.point());
      this.value(n);
      const when = document.createElement("b");
      when.textContent = this.clock(this.times[n]);
      const table = document.createElement("table");
      for (const s of this.shown) {
        const row = table.insertRow();
        row.insertCell().textContent = this.names[s];
        row.insertCell().textContent = this.text(s, n);
      }
      this.tip.replaceChildren(when, table);
      for (const text of this.happened(n)) element("p", "", this.tip).textContent = text;
      this.tip.style.display = "block";
      const outer = this.card.getBoundingClientRect();
      const cross = this.cross.getBoundingClientRect();
      const x = cross.left - outer.left;
      const room = this.card.clientWidth - this.tip.offsetWidth;
      const left = x + 12 > room ? x - 12 - this.tip.offsetWidth : x + 12;
      this.tip.style.left = `${clamp(left, 0, Math.max(room, 0))}px`;
      this.tip.style.top = `${cross.top - outer.top + 6}px`;
    }

    hide() {
      this.tip.style.display = "none";
      state.cursor = null;
      charts.forEach((chart) => chart.point());
    }

    // The time under the pointer.
    time(event) {
      const box = this.over.getBoundingClientRect();
      const [from, to] = this.span;
      return from + clamp((event.clientX - box.left) / box.width, 0, 1) * (to - from);
    }

    nearest(time) {
      const [begin, end] = this.range;
      const n = clamp(since(this.times, time), begin, Math.max(end - 1, begin));
      return n > begin && time - this.times[n - 1] < this.times[n] - time ? n - 1 : n;
    }

    pick(time) {
      const [begin, end] = this.range;
      if (end > begin) this.show(this.nearest(time));
    }

    listen() {
      const { over } = this;
      let start = null;
      over.addEventListener("pointerdown", (event) => {
        if (event.button) return;
        start = event.clientX;
        over.setPointerCapture(event.pointerId);
        this.pick(this.time(event));
      });
      over.addEventListener("pointermove", (event) => {
        this.pick(this.time(event));
        if (start === null) return;
        const box = over.getBoundingClientRect();
        const ends = [start, event.clientX].map((x) => clamp((x - box.left) / box.width, 0, 1));
        const [left, right] = ends.sort((a, b) => a - b);
        this.brush.style.cssText = `display:block;left:${100 * left}%;width:${100 * (right - left)}%`;
      });
      over.addEventListener("pointerup", (event) => {
        if (start !== null && Math.abs(event.clientX - start) > CLICK) {
          zoom(...[start, event.clientX].map((x) => this.time({ clientX: x })).sort((a, b) => a - b));
        }
        stop();
      });
      const stop = () => {
        start = null;
        this.brush.style.display = "none";
      };
      over.addEventListener("pointercancel", stop);
      // A finger that is lifted leaves as well, but wants to read what it touched.
      over.addEventListener("pointerleave", (event) => event.pointerType === "touch" || this.hide());
      over.addEventListener("blur", () => this.hide());
      over.addEventListener("dblclick", () => zoom(null, null));
      over.addEventListener("wheel", (event) => {
        const along = event.shiftKey ? event.deltaX || event.deltaY : event.deltaX;
        if (event.ctrlKey || event.metaKey) scale(1.2 ** Math.sign(event.deltaY), this.time(event));
        else if (state.from !== null && Math.abs(along) > 0) pan(0.1 * Math.sign(along));
        else return; // the page scrolls
        event.preventDefault();
      }, { passive: false });
      over.addEventListener("keydown", (event) => this.press(event));
    }

    press(event) {
      const { key, shiftKey } = event;
      const [begin, end] = this.range;
      const now = state.cursor === null ? -1 : this.nearest(state.cursor);
      const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (step && shiftKey) pan(0.25 * step);
      else if (step) this.step(now < 0 ? (step > 0 ? begin : end - 1) : now + step);
      else if (key === "Home") this.step(begin);
      else if (key === "End") this.step(end - 1);
      else if (key === "+" || key === "=") scale(0.5, state.cursor);
      else if (key === "-") scale(2, state.cursor);
      else if (key === "Escape" || key === "0") zoom(null, null);
      else return;
      event.preventDefault();
    }

    step(n) {
      const [begin, end] = this.range;
      if (end > begin) this.show(clamp(n, begin, end - 1));
    }

    tabulate() {
      this.values_.querySelector(".scroll")?.remove();
      if (!this.values_.open) return;
      const [begin, end] = this.range;
      const scroll = element("div", "scroll", this.values_, {
        tabindex: 0, role: "region", "aria-label": `Values of ${this.card.querySelector("h3").textContent}`,
      });
      const table = element("table", "data pinned", scroll);
      const head = table.createTHead().insertRow();
      for (const text of ["Time", ...this.shown.map((s) => this.names[s])]) {
        element("th", text === "Time" ? "t" : "", head, { scope: "col" }).textContent = text;
      }
      const body = table.createTBody();
      for (let n = begin; n < end; n += 1) {
        const row = body.insertRow();
        row.insertCell().textContent = this.clock(this.times[n]);
        row.cells[0].className = "t";
        for (const s of this.shown) {
          const value = this.values[s][n];
          row.insertCell().textContent = typeof value === "number" ? value.toLocaleString("en") : "";
        }
      }
    }

    update() {
      this.card.querySelectorAll(".legend button").forEach((button) => {
        const hidden = state.hidden.has(this.key(button.textContent.trim()));
        button.setAttribute("aria-pressed", String(!hidden));
      });
      this.card.querySelector(".length").textContent = this.length;
      const ends = this.card.querySelector(".ends");
      if (ends) ends.hidden = !this.low;
      this.tabulate();
      this.value(clamp(this.range[1] - 1, 0, this.times.length - 1));
    }
  }

  function load() {
    load.promise ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      const inside = document.getElementById("runtime");
      if (inside) {
        script.textContent = inside.textContent;
        document.head.append(script);
        resolve();
        return;
      }
      script.addEventListener("load", resolve);
      script.addEventListener("error", reject);
      script.src = section.dataset.runtime;
      document.head.append(script);
    });
    return load.promise;
  }

  // Draws what is in the window first; a later change takes over from an earlier one.
  async function draw() {
    const mine = (draw.newest = (draw.newest || 0) + 1);
    section.setAttribute("aria-busy", "true");
    try {
      await load();
      const off = (chart) => {
        const box = chart.card.getBoundingClientRect();
        return box.bottom < 0 || box.top > window.innerHeight;
      };
      for (const chart of [...charts].sort((a, b) => off(a) - off(b))) {
        if (mine !== draw.newest) return;
        await chart.draw();
      }
    } catch {
      bar.output.textContent = `${section.dataset.runtime} is missing beside this page`;
    }
    if (mine === draw.newest) section.setAttribute("aria-busy", "false");
  }

  const isStill = () => state.from === null && !state.hidden.size;

  function apply(isRecorded = true) {
    const { from, to } = state;
    charts.forEach((chart) => chart.choose());
    bar.output.textContent = from === null ? "" : `${charts[0].clock(from)} to ${charts[0].clock(to)}`;
    bar.whole.disabled = from === null;
    if (bar.explain) {
      bar.explain.hidden = from === null;
      bar.explain.search = explained(from, to);
    }
    bar.pans.forEach((button) => { button.disabled = from === null; });
    charts.forEach((chart) => chart.update());
    if (!isStill() || charts.some((chart) => chart.view)) draw();
    if (isRecorded) write();
    refine();
  }

  // The query of the address that explains a span.
  function explained(from, to) {
    const words = new URLSearchParams(bar.explain.search);
    if (from !== null) words.set("since", stamp(from));
    if (from !== null) words.set("until", stamp(to));
    return words;
  }

  // Asks the server for finer points of the span that is shown.
  async function refine() {
    const { from, to } = state;
    if (!section.dataset.points || from === null || !charts.some((chart) => chart.finer)) return;
    const room = Math.round((to - from) / 10); // lines reach the edges
    const wide = [from - room, to + room];
    const [first, last] = wide.map(stamp);
    const answer = await fetch(`${section.dataset.points}&from=${first}&to=${last}`);
    if (!answer.ok || from !== state.from || to !== state.to) return;
    for (const [name, points] of Object.entries(await answer.json())) {
      charts.find((chart) => chart.name === name)?.refine(points, ...wide);
    }
    charts.forEach((chart) => chart.update());
    draw();
  }

  function zoom(from, to, isRecorded = true) {
    const length = Math.max(to - from, Math.min(SECOND, whole[1] - whole[0]));
    const begin = clamp(from, whole[0], whole[1] - length);
    const all = from === null || length >= whole[1] - whole[0];
    const grain = length > 60 * SECOND ? SECOND : 1;
    Object.assign(state, all ? { from: null, to: null } : {
      from: Math.round(begin / grain) * grain,
      to: Math.round(Math.min(begin + length, whole[1]) / grain) * grain,
    });
    apply(isRecorded);
  }

  const span = () => (state.from === null ? whole : [state.from, state.to]);

  function scale(factor, around) {
    const [from, to] = span();
    const middle = around ?? (from + to) / 2;
    const length = (to - from) * factor;
    const begin = middle - ((middle - from) / (to - from)) * length;
    zoom(begin, begin + length);
  }

  function pan(share) {
    const [from, to] = span();
    zoom(from + share * (to - from), to + share * (to - from));
  }

  function toggle(key) {
    if (!state.hidden.delete(key)) state.hidden.add(key);
    apply();
  }

  const stamp = (time) => new Date(time).toISOString().replace(/\.000/, "");

  // What is shown, in the address and in the history, so that Back undoes a change.
  function write() {
    const words = new URLSearchParams();
    if (state.from !== null) {
      words.set("from", stamp(state.from));
      words.set("to", stamp(state.to));
    }
    [...state.hidden].sort().forEach((key) => words.append("hide", key));
    const text = words.toString().replaceAll("%3A", ":");
    const plain = location.href.split("#")[0];
    const now = { from: state.from, to: state.to, hidden: [...state.hidden] };
    const isStep = history.state && performance.now() - write.last > PAUSE;
    write.last = performance.now();
    const address = text ? `#${text}` : given() ? plain : location.href;
    history[isStep ? "pushState" : "replaceState"](now, "", address);
  }

  function recall({ from, to, hidden }) {
    Object.assign(state, { from, to, hidden: new Set(hidden) });
    apply(false);
  }

  // The state in the address; none if it has none, as with a link to a part of the page.
  function given() {
    const words = new URLSearchParams(location.hash.slice(1));
    return ["from", "to", "hide"].some((name) => words.has(name)) ? words : null;
  }

  function restore() {
    const words = given();
    if (!words) {
      write.last = performance.now(); // a link to a part of the page is no change
      write();
      return;
    }
    const keys = new Set(charts.flatMap((chart) => chart.names.map((name) => chart.key(name))));
    state.hidden = new Set(words.getAll("hide").filter((key) => keys.has(key)));
    const [from, to] = ["from", "to"].map((name) => Date.parse(words.get(name)));
    const within = from < to && from < whole[1] && to > whole[0];
    zoom(...(within ? [Math.max(from, whole[0]), Math.min(to, whole[1])] : [null, null]));
    section.scrollIntoView();
  }

  // Says that newer intervals have landed, and draws them if the server follows.
  function listen(newer) {
    const events = new EventSource(newer.dataset.changes);
    events.addEventListener("changed", async () => {
      newer.hidden = false;
      if (newer.dataset.followed === undefined) return;
      const answer = await fetch(`${section.dataset.points}&from=${stamp(whole[1])}`);
      if (!answer.ok) return;
      for (const [name, points] of Object.entries(await answer.json())) {
        charts.find((chart) => chart.name === name)?.extend(points);
      }
      whole = measure();
      charts.forEach((chart) => chart.choose());
      charts.forEach((chart) => chart.update());
      draw();
    });
    window.addEventListener("pagehide", () => events.close());
  }

  const cards = document.querySelectorAll("figure.card:has(script.points)");
  if (!section || !cards.length) return;
  const marks = read("marks");
  const { config } = read("charts-config");
  let shower = null;
  const tools = section.querySelector(".zoom");
  const bar = {
    output: tools.querySelector("output"),
    explain: document.getElementById("explain"),
    whole: tools.querySelector("[data-zoom=whole]"),
    pans: tools.querySelectorAll("[data-zoom=earlier], [data-zoom=later]"),
  };
  const charts = Array.from(cards, (card) => new Chart(card));
  const measure = () => [
    Math.min(...charts.map((chart) => chart.first)), Math.max(...charts.map((chart) => chart.last)),
  ];
  let whole = measure();
  const actions = {
    in: () => scale(0.5), out: () => scale(2), whole: () => zoom(null, null),
    earlier: () => pan(-0.5), later: () => pan(0.5),
  };
  tools.querySelectorAll("button").forEach((button) => {
    button.addEventListener("click", actions[button.dataset.zoom]);
  });
  tools.hidden = false;
  window.addEventListener("popstate", ({ state: before }) => before && recall(before));
  window.addEventListener("hashchange", () => history.state || restore());
  restore();
  const newer = document.getElementById("newer");
  if (newer) listen(newer);
})();
