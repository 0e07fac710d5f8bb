// Shows one pair after the other; neither the page nor its data says which model made which. Another script provides
// `ask()`, which gets pairs, and `keep(choice, seconds)`, which stores votes.
function redrawCharts() {}
const main = document.getElementById('main');
const CHOICES = [
  ['left', '1', "First is better"],
  ['right', '2', "Second is better"],
  ['tie', 't0', "Equally good"],
  ['both_bad', 'b', "Both bad"],
  ['skip', 's', "Skip"],
];
const SIDES = [['source', "Source"], ['left', "First"], ['right', "Second"]];
const MOST = 12; // largest zoom factor
const STEP = 1.5;
// `past`: pairs already voted on, which can be shown again; `later`: pairs that wait meanwhile.
const page = { rater: '', task: null, shownAt: 0, busy: false, past: [], later: [], looked: new Set() };
const look = { scale: 1, x: 0.5, y: 0.5 };
const isPhone = matchMedia('(max-width: 720px)');

const nameInput = make('input', { type: 'text', name: 'rater', maxlength: 60, autocomplete: 'name', required: true, id: 'rater' });
const begin = make('form', { class: 'vote-begin' },
  say('h1', "Which edit is better?"), say('p', "You see a source picture, what was asked for, and two edits of it. Which of the two does what was asked for better, and leaves the rest unchanged? You are not told which models made them, and the sides are random. Your votes count in no score.", [], { class: 'explanation' }),
  make('label', { for: 'rater' }, say('span', "Your name, or any word that you use every time")), nameInput, say('button', "Begin", [], { class: 'primary' }));
begin.addEventListener('submit', (event) => {
  event.preventDefault();
  page.rater = nameInput.value.trim();
  if (!page.rater) return;
  remember('edit-eval-rater', page.rater);
  ask();
});

const instruction = make('h1', { class: 'vote-instruction', id: 'vote-instruction', tabindex: '-1' });
const progress = make('p', { class: 'quiet', role: 'status' });
const near = make('div', { class: 'vote-goal' });
const pictures = make('div', { class: 'vote-pictures' });
const tabs = make('div', { class: 'segmented vote-sides', role: 'group', ...labelled('label', "Picture") }, ...SIDES.map(([side, words]) => {
  const button = say('button', words, [], { type: 'button', value: side });
  button.addEventListener('click', () => turnTo(side));
  return button;
}));
const buttons = make('div', { class: 'vote-choices', role: 'group', 'aria-labelledby': 'vote-instruction' }, ...CHOICES.map(([choice, key, words]) => {
  const button = make('button', { type: 'button', class: 'plain', value: choice }, say('span', words), ' ', make('kbd', {}, key[0].toUpperCase()));
  button.addEventListener('click', () => vote(choice));
  return button;
}));
const back = make('button', { type: 'button', class: 'plain', id: 'back', disabled: true }, say('span', "Back"), ' ', make('kbd', {}, 'U'));
back.addEventListener('click', goBack);
buttons.append(back);
const keysHint = say('p', "Keys: 1, 2, T, B, S; U goes back. Hold the space bar to swap the two, O to show the source in the first place. The wheel, a click, + and − zoom; drag to move, Z shows the whole.", [], { class: 'detail-keys' });
const lookFirst = say('p', "Look at both before you vote.", [], { class: 'vote-both', hidden: true });
const after = make('div', { class: 'vote-after', hidden: true });
const trouble = make('p', { class: 'notice problem', role: 'alert', hidden: true });
const ballot = make('section', { class: 'vote', hidden: true },
  make('div', { class: 'vote-head' }, instruction, progress, after), near, trouble, tabs, pictures, lookFirst, buttons, keysHint);
const beginning = make('section', {}, begin);
main.append(beginning, ballot);

function figure(picture, name, side) {
  const frame = make('div', { class: 'frame' });
  if (picture) {
    const image = make('img', { src: picture.thumbnail, ...labelled('alt', name), draggable: 'false' });
    const whole = new Image();
    whole.onload = () => { image.src = whole.src; };
    whole.src = picture.file;
    image.addEventListener('load', () => { pictures.style.setProperty('--shape', image.naturalWidth / image.naturalHeight); });
    frame.append(image);
  } else frame.append(say('p', "The source image was not on the computer that drew this page.", [], { class: 'quiet' }));
  return make('figure', { class: side }, frame, make('figcaption', {}, say('span', name)));
}

// -- all pictures are zoomed at the same place --

function enlarge(scale, x = look.x, y = look.y) {
  const within = (value) => Math.max(0, Math.min(1, value));
  Object.assign(look, { scale: Math.max(1, Math.min(MOST, scale)), x: within(x), y: within(y) });
  pictures.style.setProperty('--enlarged', look.scale);
  pictures.style.setProperty('--at', `${look.x * 100}% ${look.y * 100}%`);
  pictures.classList.toggle('enlarged', look.scale > 1);
}

// The point under the pointer stays there: a point `p` is drawn at `o + (p - o) * scale` for an origin `o`.
function enlargeAt(frame, scale, clientX, clientY) {
  const box = frame.getBoundingClientRect();
  const wanted = Math.max(1, Math.min(MOST, scale));
  const origin = (at, pointer) => {
    const point = at + (pointer - at) / look.scale;
    return wanted === 1 ? 0.5 : (pointer - point * wanted) / (1 - wanted);
  };
  enlarge(wanted, origin(look.x, (clientX - box.left) / box.width), origin(look.y, (clientY - box.top) / box.height));
}

const fingers = new Map();
let moved = false;
pictures.addEventListener('wheel', (event) => {
  const frame = event.target.closest('.frame');
  if (!frame) return;
  event.preventDefault();
  enlargeAt(frame, look.scale * Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.002)), event.clientX, event.clientY);
}, { passive: false });
pictures.addEventListener('pointerdown', (event) => {
  const frame = event.target.closest('.frame');
  if (!frame || event.button) return;
  if (!fingers.size) moved = false;
  fingers.set(event.pointerId, { frame, x: event.clientX, y: event.clientY });
  if (event.pointerType !== 'touch' || look.scale > 1 || fingers.size > 1) frame.setPointerCapture(event.pointerId);
});
pictures.addEventListener('pointermove', (event) => {
  const was = fingers.get(event.pointerId);
  if (!was) return;
  const now = { frame: was.frame, x: event.clientX, y: event.clientY };
  if (Math.hypot(now.x - was.x, now.y - was.y) < (moved ? 1 : 4)) return;
  moved = true;
  const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, one]) => one);
  if (other) {
    const apart = (one) => Math.hypot(one.x - other.x, one.y - other.y) || 1;
    enlargeAt(was.frame, (look.scale * apart(now)) / apart(was), (now.x + other.x) / 2, (now.y + other.y) / 2);
  } else if (look.scale > 1) {
    const box = was.frame.getBoundingClientRect();
    enlarge(look.scale, look.x - (now.x - was.x) / box.width / (look.scale - 1), look.y - (now.y - was.y) / box.height / (look.scale - 1));
  }
  fingers.set(event.pointerId, now);
});
for (const kind of ['pointerup', 'pointercancel']) pictures.addEventListener(kind, (event) => { fingers.delete(event.pointerId); });
pictures.addEventListener('click', (event) => {
  const frame = event.target.closest('.frame');
  if (frame && !moved) enlargeAt(frame, look.scale > 1 ? 1 : 3, event.clientX, event.clientY);
});

// -- on a phone one picture fills the screen; a vote waits until both were viewed --

function turnTo(side) {
  pictures.dataset.shown = side;
  page.looked.add(side);
  for (const button of tabs.children) button.setAttribute('aria-pressed', String(button.value === side));
  const unseen = isPhone.matches && Boolean(page.task) && !page.task.done && !(page.looked.has('left') && page.looked.has('right'));
  for (const button of buttons.children) if (button !== back) button.disabled = unseen;
  lookFirst.hidden = !unseen;
}
isPhone.addEventListener('change', () => turnTo(pictures.dataset.shown || 'left'));

function show(task) {
  page.task = task;
  page.shownAt = performance.now();
  beginning.hidden = true;
  ballot.hidden = false;
  tellProgress(task);
  back.disabled = !page.past.length;
  for (const button of buttons.children) button.hidden = task.done && button !== back;
  keysHint.hidden = tabs.hidden = Boolean(task.done);
  pictures.style.removeProperty('--shape');
  enlarge(1, 0.5, 0.5);
  if (task.done) {
    instruction.replaceChildren(say('span', task.done));
    instruction.lang = '';
    pictures.replaceChildren();
    return;
  }
  instruction.lang = task.language;
  instruction.textContent = task.instruction;
  pictures.replaceChildren(...SIDES.map(([side, words]) => figure(task[side], words, side)));
  page.looked = new Set();
  turnTo('left');
  instruction.focus({ preventScroll: true });
  buttons.classList.add('rested'); // the pointer still lies on the last choice, which is none of this pair's
}
buttons.addEventListener('pointermove', () => buttons.classList.remove('rested'));

// `progress` and `more` are sentences with their values; `near` is the share of the goal reached, 0 to 1; `then` says
// where the votes are counted, once a rater has given those that were planned.
function tellProgress(task) {
  after.hidden = !task.then;
  if (task.then) {
    after.replaceChildren(make('p', {}, say('a', "See what the votes say", [], { href: task.then.page }), ' ', make('code', {}, task.then.votes)),
      make('p', {}, say('span', "The report in the run's folder shows them after:"), ' ', make('code', {}, task.then.report)));
  }
  progress.replaceChildren(say('span', ...task.progress), ...(task.more || []).flatMap((one) => [' ', say('span', ...one)]));
  near.replaceChildren(make('i'));
  near.firstChild.style.width = `${Math.min(1, task.near || 0) * 100}%`;
}

// After a vote: the pair that waited while an earlier one was shown again, else the new one.
function goOn(task) {
  const waited = page.later.pop();
  show(waited ? { ...waited, progress: task.progress, more: task.more, near: task.near, then: task.then } : task);
}

function goBack() {
  if (page.busy || !page.past.length) return;
  const before = page.past.pop();
  page.later.push(page.task);
  const { progress: now, more, near: reached, then } = page.task;
  show({ ...before, progress: now, more, near: reached, then });
}

function failed(text) {
  trouble.textContent = text;
  trouble.hidden = !text;
}

function vote(choice) {
  if (!page.task || page.task.done || page.busy || buttons.firstChild.disabled) return;
  page.past.push(page.task);
  keep(choice, (performance.now() - page.shownAt) / 1000);
}

const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
addEventListener('keydown', (event) => {
  if (ballot.hidden || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches('input, select, textarea')) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const found = event.repeat ? null : CHOICES.find(([, keys]) => key.length === 1 && keys.includes(key));
  if (found) vote(found[0]);
  else if (key === 'u' || key === 'Backspace') { if (!event.repeat) goBack(); }
  else if (key === '+' || key === '=') enlarge(look.scale * STEP);
  else if (key === '-' || key === '−') enlarge(look.scale / STEP);
  else if (key === 'z') enlarge(1, 0.5, 0.5);
  else if (key in MOVES && look.scale > 1) enlarge(look.scale, look.x + MOVES[key][0] / 4 / look.scale, look.y + MOVES[key][1] / 4 / look.scale);
  else if (key === ' ' && !event.target.matches('button, a')) pictures.classList.add('flipped'); // the second in place of the first
  else if (key === 'o') pictures.classList.add('original');
  else return;
  event.preventDefault();
});
addEventListener('keyup', (event) => {
  if (event.key === ' ') pictures.classList.remove('flipped');
  if (event.key.toLowerCase() === 'o') pictures.classList.remove('original');
});

function beginBallot() {
  startPreferences();
  nameInput.value = new URLSearchParams(location.search).get('rater') || recall('edit-eval-rater') || '';
  if (new URLSearchParams(location.search).has('rater')) begin.requestSubmit();
}
