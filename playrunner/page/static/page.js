"use strict";
// Curves: drawn once from all points, then extended by what the server sends.
(() => {
  const section = document.getElementById("curves");
  if (!section || !window.Plotly) return;
  const palette = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#9030f0", "#c0c078"];
  const dashes = ["solid", "dash", "dot", "dashdot"];
  const beside = { loss: ["eval_loss"] };
  const most = 4000;
  const byId = (name) => document.getElementById(name);
  const smoothing = byId("smoothing"), log = byId("log"), axis = byId("axis");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const paper = window.matchMedia("print"); // always light
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  let runs = [];

  const smoothed = (values, weight) => {
    if (!weight) return values;
    let mean = 0, count = 0;
    return values.map((value) => {
      mean = mean * weight + value * (1 - weight);
      count += 1;
      return mean / (1 - Math.pow(weight, count)); // else the first points lean towards 0
    });
  };

  // Plotly takes some tags in its texts for markup, links among them
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;");

  const positions = (points) =>
    axis.value === "t" ? points.t.map((at) => (at === null ? null : new Date(at * 1000))) : points.x;

  const traces = (name) => runs.flatMap((run, number) =>
    [name, ...(beside[name] || [])].filter((each) => run.series[each]).flatMap((each, part) => {
      const points = run.series[each], weight = part ? 0 : Number(smoothing.value);
      const colour = palette[number % palette.length], x = positions(points);
      const line = { color: colour, width: 2, dash: part ? "dot" : dashes[Math.floor(number / palette.length) % 4] };
      const label = plain(part ? `${run.name} (evaluation)` : run.name);
      const drawn = { x, y: smoothed(points.y, weight), name: label, mode: points.x.length > 1 ? "lines" : "lines+markers", line };
      const raw = { x, y: points.y, name: label, mode: "lines", opacity: 0.25, hoverinfo: "skip", showlegend: false, line: { ...line, width: 1 } };
      return weight ? [raw, drawn] : [drawn];
    }));

  const shownMarks = () =>
    runs.length !== 1 || axis.value === "t" ? [] : runs[0].marks.filter((mark) => mark.kind !== "checkpoint").slice(-20);
  const markName = (mark) => (mark.kind === "phase" ? mark.text : mark.kind);
  const marked = () => {
    const shown = shownMarks();
    return {
      shapes: shown.map((mark) => ({ type: "line", x0: mark.step, x1: mark.step, yref: "paper", y0: 0, y1: 1, line: { width: 1, dash: "dash", color: mark.kind === "phase" ? "#999999" : "#d55e00" } })),
      annotations: shown.map((mark) => ({ x: mark.step, yref: "paper", y: 1, text: plain(markName(mark)), showarrow: false, font: { size: 10 }, textangle: -90, xanchor: "right", yanchor: "top" })),
    };
  };

  const layout = (name) => {
    const style = getComputedStyle(document.documentElement);
    const line = style.getPropertyValue("--line").trim(), text = style.getPropertyValue("--quiet").trim();
    return {
      margin: { l: 56, r: 12, t: 8, b: 36 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: text, size: 12 }, showlegend: runs.length > 1, legend: { orientation: "h" }, hovermode: "x unified",
      xaxis: { gridcolor: line, zeroline: false, title: { text: axis.value === "t" ? "" : "step" } },
      yaxis: { gridcolor: line, zeroline: false, type: log.checked ? "log" : "linear", exponentformat: name === "lr" ? "e" : "SI" },
      hoverlabel: { bgcolor: style.getPropertyValue("--raised").trim() }, ...marked(),
    };
  };

  const drawRanks = () => {
    const figure = byId("ranks"), ranks = runs.length === 1 ? runs[0].ranks : null;
    figure.hidden = !ranks;
    if (!ranks) return;
    const plot = figure.querySelector(".plot"), style = layout("ranks");
    const cells = {
      type: "heatmap", x: ranks.steps, y: ranks.rows.map((row) => `rank ${row}`), z: ranks.seconds, colorscale: "Cividis", zmin: 0,
      hoverongaps: false, hovertemplate: "step %{x}, %{y}: %{z} s<extra></extra>", colorbar: { thickness: 10, ticksuffix: " s" },
    };
    const height = 70 + Math.min(420, 22 * Math.max(2, ranks.rows.length));
    Plotly.react(plot, [cells], {
      ...style, height, hovermode: "closest", margin: { ...style.margin, l: 76 }, shapes: [], annotations: [],
      xaxis: { ...style.xaxis, title: { text: "step" } }, yaxis: { autorange: "reversed", type: "category" },
    }, { responsive: true, displaylogo: false, displayModeBar: false });
    byId("ranks-text").textContent = ranks.text;
    plot.setAttribute("aria-label", `seconds per step of ${ranks.rows.length} ranks in ${ranks.steps.length} comparisons: ${ranks.text}`);
  };

  // Plotly's drawings keep the width of the screen; on paper they are scaled as a whole, to a height
  // that is known before: a browser counts its sheets first.
  const scale = () => document.querySelectorAll(".plot .main-svg").forEach((svg) => {
    const [width, height] = ["width", "height"].map((name) => svg.getAttribute(name));
    svg.closest(".plot").style.setProperty("--ratio", `${width} / ${height}`);
    if (paper.matches) svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    else svg.removeAttribute("viewBox");
  });

  const figures = [...document.querySelectorAll(".chart[data-series]")];
  const draw = () => {
    const told = shownMarks().map((mark) => `; ${markName(mark)} at step ${mark.step}`).join("");
    figures.forEach((figure) => {
      const data = traces(figure.dataset.series), plot = figure.querySelector(".plot");
      figure.hidden = !data.length;
      if (!data.length) return;
      Plotly.react(plot, data, layout(figure.dataset.series), { responsive: true, displaylogo: false, displayModeBar: false });
      const last = data[data.length - 1].y;
      plot.setAttribute("aria-label", `${figure.querySelector("figcaption").textContent}: ${last.length} points, from ${last[0]} to ${last[last.length - 1]}${told}`);
      plot.dataset.points = String(last.length);
    });
    drawRanks();
    scale();
    const any = figures.some((figure) => !figure.hidden);
    document.querySelector(".controls").hidden = !any;
    byId("no-points").hidden = any;
  };

  let waiting = false;
  const drawSoon = () => {
    if (waiting) return;
    waiting = true;
    window.setTimeout(() => { waiting = false; draw(); }, calm.matches ? 2000 : 200);
  };

  const load = async () => {
    const answer = await fetch(section.dataset.curves);
    if (!answer.ok) return;
    runs = await answer.json();
    draw();
  };

  const add = (news) => {
    const run = runs.find((each) => each.name === news.name);
    if (!run) return;
    Object.entries(news.series).forEach(([name, points]) => {
      const known = (run.series[name] ||= { x: [], t: [], y: [] });
      ["x", "t", "y"].forEach((part) => known[part].push(...points[part]));
    });
    if (Object.values(run.series).some((points) => points.x.length > most)) load(); // thinned by the server
    else drawSoon();
  };

  const listen = () => {
    if (!section.dataset.events || runs.length !== 1) return;
    const events = new EventSource(`${section.dataset.events}?from=${runs[0].count}&generation=${runs[0].generation}&compared=${runs[0].ranks ? runs[0].ranks.count : 0}`);
    events.addEventListener("points", (event) => add(JSON.parse(event.data)));
    events.addEventListener("reset", load);
    events.addEventListener("ranks", (event) => { runs[0].ranks = JSON.parse(event.data).ranks; drawSoon(); });
    events.addEventListener("facts", (event) => Object.entries(JSON.parse(event.data)).forEach(([name, value]) => {
      const shown = document.querySelector(`[data-fact="${CSS.escape(name)}"]`);
      if (shown) shown.textContent = value;
    }));
    // The browser would come back with the count of the first time, and get points twice.
    events.onerror = () => { events.close(); window.setTimeout(() => load().then(listen, listen), 3000); };
  };

  [smoothing, log, axis].forEach((control) => control.addEventListener("input", drawSoon));
  dark.addEventListener("change", draw);
  paper.addEventListener("change", draw);
  window.addEventListener("resize", () => window.setTimeout(scale, 500)); // after Plotly's own
  const kept = byId("curve-data");
  if (kept) { runs = JSON.parse(kept.textContent); draw(); } else load().then(listen);
})();
