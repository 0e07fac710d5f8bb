// Draws the charts one by one, in the page's language, font and colours: those near the window at once, the others when
// idle. A chart takes a tenth of a second or, with thousands of bars, a whole second, so opening the page must not wait
// for charts out of sight.
const charts = new Map(); // figure -> { bodies, views, near, drawn }
const NEAR = '60% 0%';

// Columns of a legend: the axis labels leave about two thirds of the width.
function legendColumns(name, width) {
  if (name === 'timeline' || name === 'utilisation') return Math.max(1, Math.floor(width / 110));
  const longest = Math.max(...[...data.edit_models, ...data.judges].map((one) => one.length));
  return Math.max(1, Math.floor((width * 0.64) / Math.min(290, longest * 6.5 + 36)));
}

// The height of a chart before it is drawn, so that content below does not move, and links to it scroll to its place.
// Around the plot, Vega uses the line sizes set by `chartTheme`, in any font.
const AXIS = 43; // labels and title
const TITLE = 23;
const LEGEND = 6;
const LEGEND_ROW = 14;
const HALF_A_LABEL = 6; // the topmost label of a numeric axis extends half above the plot, if nothing else does
const PADDING = { top: 5, bottom: 5 }; // Vega's own

function chartHeight(specification, name, width) {
  const encodings = (specification.layer || [specification]).map((one) => one.encoding);
  const named = encodings.map(({ color }) => (color && color.legend ? color.scale.domain.length : 0));
  const rows = Math.ceil(Math.max(...named) / legendColumns(name, width));
  const numbers = encodings.some(({ y }) => y && y.type === 'quantitative');
  const { top, bottom } = specification.padding || PADDING;
  const above = rows ? LEGEND + rows * LEGEND_ROW : (numbers ? HALF_A_LABEL : 0);
  return specification.height + AXIS + above + (specification.title ? TITLE : 0) + top + bottom;
}

// A figure's charts: those of its choice of scores.
function specificationsOf(figure) {
  const choice = figure.closest('[data-score]');
  const score = choice ? choice.dataset.score : undefined;
  return data.charts[language][figure.dataset.chart].filter(({ usermeta }) => (usermeta || {}).score === score);
}

function isShown(figure) {
  return !figure.closest('[hidden]');
}

function reserveRoom() {
  const bodies = [...document.querySelectorAll('[data-chart]')].filter(isShown).flatMap((figure) => {
    const specifications = specificationsOf(figure);
    return [...figure.querySelectorAll('.chart-body')].map((body, place) => {
      const { widest } = specifications[place].usermeta || {};
      if (widest) body.style.maxWidth = `${widest}px`;
      return [body, chartHeight(specifications[place], figure.dataset.chart, body.clientWidth)];
    });
  });
  for (const [body, height] of bodies) body.style.minHeight = `${height}px`;
}

function chartTheme(width, columns) {
  const style = getComputedStyle(root);
  const colour = (name) => style.getPropertyValue(name).trim();
  const font = getComputedStyle(document.body).fontFamily;
  const [ink, muted, line, accent] = ['--ink', '--muted', '--line', '--accent'].map(colour);
  const palette = Array.from({ length: 12 }, (_, place) => colour(`--series-${place + 1}`));
  return {
    font,
    background: 'transparent',
    view: { stroke: null },
    range: { category: palette },
    axis: {
      labelColor: muted, titleColor: muted, gridColor: line, domainColor: line, tickColor: line,
      labelFontSize: 12, titleFontSize: 12, titleFontWeight: 'normal', titlePadding: 10, labelPadding: 6,
    },
    // Names take about a third of the chart.
    axisY: { labelColor: ink, labelFontSize: 13, labelLimit: Math.round(Math.min(width * 0.36, 360)), grid: false },
    axisYQuantitative: { labelColor: muted, labelFontSize: 12, grid: true, domain: false, ticks: false },
    legend: {
      labelColor: ink, labelFontSize: 12, labelLimit: Math.min(260, width - 60), columns,
      columnPadding: 18, symbolType: 'circle', symbolSize: 80, symbolOpacity: 1, offset: 8,
    },
    title: { color: ink, fontWeight: 600 },
    mark: { color: accent }, bar: { color: accent }, rule: { color: accent }, line: { color: muted }, point: { color: accent }, tick: { color: ink },
    text: { color: ink, font },
  };
}

async function drawChart(figure) {
  const chart = charts.get(figure);
  const name = figure.dataset.chart;
  const specifications = specificationsOf(figure);
  if (!isShown(figure)) {
    chart.drawn = false; // another score was chosen before its turn came
    return;
  }
  for (const [place, body] of chart.bodies.entries()) {
    if (chart.views[place]) chart.views[place].finalize();
    const config = chartTheme(body.clientWidth, legendColumns(name, body.clientWidth));
    chart.views[place] = await vegaEmbed(body, { ...specifications[place], config }, {
      // The page allows no eval: expressions are interpreted.
      ast: true,
      actions: false,
      defaultStyle: false,
      // Thousands of bars are quicker on a canvas.
      renderer: name === 'timeline' ? 'canvas' : 'svg',
      tooltip: { disableDefaultStyle: true, theme: 'page' },
    });
    // A mark links to its samples, further down the page; Vega follows the link.
    chart.views[place].view.addEventListener('click', (event, item) => {
      if (item && item.href) showGallery();
    });
    // Vega describes every mark in English; the chart as a whole has a label, and the tables have the numbers.
    for (const described of [body, ...body.querySelectorAll('[aria-roledescription], [aria-label]')]) {
      for (const attribute of ['role', 'aria-label', 'aria-roledescription']) described.removeAttribute(attribute);
    }
    const picture = body.querySelector('svg, canvas');
    picture.setAttribute('role', 'img');
    picture.setAttribute('aria-label', figure.querySelector('figcaption').firstElementChild.textContent);
  }
}

// After two switches in a row the last one must win; a pause before each chart keeps the page responsive.
let drawing = Promise.resolve();

function drawNear() {
  for (const [figure, chart] of charts) if (chart.near && !chart.drawn) drawNext(figure, chart);
  drawWhenIdle();
}

function drawNext(figure, chart) {
  chart.drawn = true;
  drawing = drawing
    .then(() => new Promise((resume) => { setTimeout(resume); }))
    .then(() => drawChart(figure))
    .catch((error) => console.error(error));
}

// Printing does not wait: charts not yet drawn when it begins stay blank on paper.
const idle = window.requestIdleCallback || ((then) => setTimeout(then, 200));
let isWaiting = false;

function drawWhenIdle() {
  if (isWaiting) return;
  isWaiting = true;
  drawing.then(() => idle(() => {
    isWaiting = false;
    const far = [...charts].find(([figure, chart]) => !chart.drawn && isShown(figure));
    if (!far) return;
    drawNext(...far);
    drawWhenIdle();
  }));
}

function redrawCharts() {
  reserveRoom();
  for (const chart of charts.values()) chart.drawn = false;
  drawNear();
}

// The room for labels and legends depends on the width at which a chart was drawn.
function redrawWhenResized() {
  let width = root.clientWidth;
  let waiting;
  addEventListener('resize', () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (root.clientWidth !== width) redrawCharts();
      width = root.clientWidth;
    }, 250);
  });
}

function startCharts() {
  reserveRoom(); // again: the window may have another width by now
  const watch = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) charts.get(target).near = isIntersecting;
    drawNear();
  }, { rootMargin: NEAR });
  for (const figure of document.querySelectorAll('[data-chart]')) {
    const bodies = [...figure.querySelectorAll('.chart-body')];
    charts.set(figure, { bodies, views: [], near: false, drawn: false });
    watch.observe(figure);
  }
  redrawWhenResized();
}

// The choice of scores in the breakdown's charts and tables; the gallery follows if its judge has that score.
function startChoice() {
  const control = document.getElementById('choice');
  if (!control) return;
  control.addEventListener('click', ({ target }) => {
    const button = target.closest('button');
    if (!button) return;
    for (const one of control.children) one.setAttribute('aria-pressed', String(one === button));
    for (const one of document.querySelectorAll('.choice')) one.hidden = one.dataset.score !== button.value;
    reserveRoom();
    drawNear();
    chooseScore(button.value);
  });
}
