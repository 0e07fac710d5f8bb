// All runs: pushed anew whenever one of them changes.
function redrawCharts() {}
const main = document.getElementById('main');
const picked = new Set();

function whenWords(seconds) {
  const date = new Date(seconds * 1000);
  return new Intl.DateTimeFormat(language === 'zh' ? 'zh-CN' : 'en-GB', { dateStyle: 'medium', timeStyle: 'short' }).format(date);
}

function runCard(run) {
  const box = make('input', { type: 'checkbox', checked: picked.has(run.id) });
  box.addEventListener('change', () => {
    if (box.checked) picked.add(run.id);
    else picked.delete(run.id);
    showPicked();
  });
  const facts = [run.samples ? words("{} samples", [run.samples]) : '', run.judges.length ? words("judged by {}", [run.judges.join(', ')]) : ''].filter(Boolean);
  const made = make('article', { class: 'run-card' },
    make('h2', {}, make('a', { href: `/run/${run.id}` }, run.name)),
    make('p', {}, make('span', { class: `dot ${run.state}`, 'aria-hidden': 'true' }), say('span', STATES[run.state]),
      run.changed ? make('span', { class: 'quiet' }, ' · ', words("changed {}", [whenWords(run.changed)])) : null));
  if (run.fraction !== null && run.fraction < 1) made.append(bar([[run.fraction, '']]));
  if (run.reason) made.append(make('p', { class: 'problem' }, run.reason));
  if (facts.length) made.append(make('p', { class: 'quiet' }, facts.join(' · ')));
  if (run.results.length) {
    made.append(make('dl', {}, ...run.results.slice(0, 8).flatMap((one) => [
      make('dt', { title: one.series }, one.series), make('dd', {}, make('b', {}, one.mean), ' ', make('small', {}, one.interval))])));
  }
  made.append(make('label', {}, box, say('span', "compare")));
  return made;
}

const list = make('div', { class: 'run-list' });
const count = make('span', { class: 'quiet', role: 'status' });
const compare = say('button', "Compare", [], { type: 'button', class: 'primary' });
compare.addEventListener('click', () => { location.href = `/compare/${[...picked].join('/')}`; });

function showPicked() {
  compare.disabled = picked.size < 2;
  count.replaceChildren(picked.size ? say('span', "{} chosen", [picked.size]) : say('span', "Choose two or more to compare"));
}

function showRuns(runs) {
  data.runs = runs;
  const order = { working: 0, silent: 0, reading: 1 };
  const sorted = [...runs].sort((one, other) => (order[one.state] ?? 2) - (order[other.state] ?? 2) || other.changed - one.changed);
  const focused = document.activeElement && document.activeElement.closest('.run-card');
  if (focused && sorted.length === list.children.length && document.activeElement.matches('input')) return; // not under a reader's fingers
  list.replaceChildren(...sorted.map(runCard));
  if (!runs.length) list.append(say('p', "There is no run here yet. One that begins will show up by itself.", [], { class: 'explanation' }));
  showPicked();
}

main.append(make('section', { class: 'wide' },
  make('div', { class: 'run-head' }, say('h1', "Runs"), make('form', {}, count, compare)), list));
showRuns(data.runs);
startPreferences();
document.getElementById('language').addEventListener('click', () => showRuns(data.runs));
follow('/events', { value: '' }, { runs: showRuns });
