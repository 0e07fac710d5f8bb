// The address holds what is shown, so that a reload, the back button or a shared link show the same. The keys are those
// of `KEYS` in entries.py, in its order; defaults are left out.
const FILTERS = {
  model: 'edit_model', judge: 'judge', score: 'score', min: 'lowest', max: 'highest', status: 'status', outcome: 'outcome', category: 'category',
  difficulty: 'difficulty', tag: 'tag', group: 'group', search: 'search', wrong: 'wrong', bar: 'bar', show: 'show', view: 'view',
};
const DEFAULTS = { show: 'all', view: 'beside' };
const WAIT = 250; // milliseconds after typing or zooming: browsers limit how often an address may change

function isState(hash) {
  return hash.includes('=');
}

function addressOf(state) {
  const said = Object.entries(state).filter(([, value]) => value !== '' && value !== null && value !== undefined);
  return said.length ? `#${new URLSearchParams(said.map(([key, value]) => [key, String(value)]))}` : '';
}

function filtersNow() {
  const form = new FormData(filters);
  const { judge, score } = wantedNow();
  const state = {};
  for (const [key, name] of Object.entries(FILTERS)) {
    const value = (form.get(name) || '').trim();
    if (value !== DEFAULTS[key]) state[key] = value;
  }
  if (judge === data.judges[0]) delete state.judge;
  if (score === data.scoring[judge].headline) delete state.score;
  if (pageNumber) state.page = pageNumber + 1;
  return state;
}

function linkTo(sample, more = {}, state = filtersNow()) {
  return addressOf({ ...state, sample: sample.id, ...more });
}

let waiting = null;

// Puts what is shown into the address, as a new step for the back button or in place of the last one.
function writeAddress({ push = false } = {}) {
  clearTimeout(waiting);
  const hash = addressOf({ ...filtersNow(), ...openNow() });
  if (hash !== location.hash && (hash || isState(location.hash))) {
    history[push ? 'pushState' : 'replaceState'](null, '', location.pathname + location.search + hash);
  }
  document.querySelectorAll('#detail-id a').forEach((link) => { link.href = hash; });
}

function writeAddressSoon() {
  clearTimeout(waiting);
  waiting = setTimeout(writeAddress, WAIT);
}

// A choice unknown to this page is ignored, with a note.
function takeFilters(asked) {
  const unknown = [];
  const set = (key) => {
    const field = filters.elements[FILTERS[key]];
    const given = asked.get(key) || '';
    if (!field) {
      if (given) unknown.push(`${key}=${given}`);
      return;
    }
    const readable = field.type !== 'number' || Number.isFinite(Number(given));
    field.value = (readable && given) || DEFAULTS[key] || '';
    if (field.selectedIndex < 0) field.selectedIndex = 0;
    if (field instanceof RadioNodeList && field.value !== given) field.value = DEFAULTS[key];
    if (field.value === given) return;
    const offered = !(field.parentElement && field.parentElement.hidden); // a single option is not offered as a choice
    if (given && offered) unknown.push(`${key}=${given}`);
  };
  const before = JSON.stringify(wantedNow());
  set('judge');
  fillScores();
  set('score');
  fillBounds();
  for (const key of Object.keys(FILTERS)) if (!['judge', 'score'].includes(key)) set(key);
  const note = document.getElementById('gallery-unknown');
  note.hidden = !unknown.length;
  note.replaceChildren(say('span', "The address asks for something that this page does not have: {}", [unknown.join(', ')]));
  return before !== JSON.stringify(wantedNow());
}

function showAsked(asked) {
  const changed = takeFilters(asked);
  const page = Number.parseInt(asked.get('page'), 10) - 1 || 0;
  if (changed) showChosen(page);
  else if (page !== pageNumber) showPage(page);
  const sample = asked.has('sample') && data.samples.find((one) => one.id === asked.get('sample'));
  if (sample) openDetail(sample, asked);
  else if (detail.open) detail.close();
  return Boolean(sample);
}

function showGallery() {
  document.getElementById('gallery').scrollIntoView();
  document.querySelector('#gallery h2').focus({ preventScroll: true });
}

function followAddress() {
  if (isState(location.hash)) showAsked(new URLSearchParams(location.hash.slice(1)));
  else if (!location.hash) showAsked(new URLSearchParams());
  else if (detail.open) detail.close(); // a section of the page: the filters stay
}

// Follows a link: opens its sample, or scrolls to the gallery.
function go(hash) {
  if (hash !== location.hash) history.pushState(null, '', location.pathname + location.search + hash);
  if (!showAsked(new URLSearchParams(hash.slice(1)))) showGallery();
}

function startAddress() {
  document.addEventListener('click', (event) => {
    const link = event.target.closest && event.target.closest('a[href^="#"]');
    if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    if (!isState(link.getAttribute('href'))) return;
    event.preventDefault();
    go(link.getAttribute('href'));
  });
  addEventListener('hashchange', followAddress);
  if (!isState(location.hash)) return;
  const [visit] = performance.getEntriesByType('navigation');
  if (!showAsked(new URLSearchParams(location.hash.slice(1))) && !(visit && visit.type === 'reload')) showGallery();
}
