// One pair after the other: who made which is not in this page, nor in what it is told. Where pairs come from and votes
// go to is said by `ask()` and `keep(choice, seconds)`, which another script has.
function redrawCharts() {}
const main = document.getElementById('main');
const CHOICES = [
  ['left', '1', "First is better"],
  ['right', '2', "Second is better"],
  ['tie', 't0', "Equally good"],
  ['both_bad', 'b', "Both bad"],
  ['skip', 's', "Skip"],
];
const page = { rater: '', task: null, shownAt: 0, busy: false };

const nameInput = make('input', { type: 'text', name: 'rater', maxlength: 60, autocomplete: 'name', required: true, id: 'rater' });
const begin = make('form', { class: 'vote-begin' },
  say('h1', "Which edit is better?"), say('p', "You see a source picture, what was asked for, and two edits of it. Which of the two does better what was asked for, and leaves the rest as it was? Who made them is not shown, and the sides are drawn by chance. What you say is in no score.", [], { class: 'explanation' }),
  make('label', { for: 'rater' }, say('span', "Your name, or any other word that you use each time")), nameInput, say('button', "Begin", [], { class: 'primary' }));
begin.addEventListener('submit', (event) => {
  event.preventDefault();
  page.rater = nameInput.value.trim();
  if (!page.rater) return;
  remember('edit-eval-rater', page.rater);
  ask();
});

const instruction = make('h1', { class: 'vote-instruction', id: 'vote-instruction', tabindex: '-1' });
const progress = make('p', { class: 'quiet', role: 'status' });
const pictures = make('div', { class: 'vote-pictures' });
const buttons = make('div', { class: 'vote-choices', role: 'group', 'aria-labelledby': 'vote-instruction' }, ...CHOICES.map(([choice, key, words]) => {
  const button = make('button', { type: 'button', class: 'plain', value: choice }, say('span', words), ' ', make('kbd', {}, key[0].toUpperCase()));
  button.addEventListener('click', () => vote(choice));
  return button;
}));
const keysHint = say('p', "Keys: 1, 2, T, B, S; hold the space bar to swap the two pictures", [], { class: 'detail-keys' });
const trouble = make('p', { class: 'notice problem', role: 'alert', hidden: true });
const ballot = make('section', { class: 'wide vote', hidden: true },
  make('div', { class: 'vote-head' }, instruction, progress), trouble, pictures, buttons, keysHint);
const beginning = make('section', {}, begin);
main.append(beginning, ballot);

function figure(picture, name, choice) {
  const frame = make('div', { class: 'frame' });
  if (picture) {
    const image = make('img', { src: picture.thumbnail, ...labelled('alt', name), draggable: 'false' });
    const whole = new Image();
    whole.onload = () => { image.src = whole.src; };
    whole.src = picture.file;
    image.addEventListener('load', () => { frame.style.setProperty('--shape', image.naturalWidth / image.naturalHeight); });
    frame.append(image);
  } else frame.append(say('p', "The source image was not on the computer that drew this page.", [], { class: 'quiet' }));
  const made = make('figure', { class: choice || 'source' }, frame, make('figcaption', {}, say('span', name)));
  if (choice) {
    frame.addEventListener('click', () => vote(choice));
    frame.style.cursor = 'pointer';
  }
  return made;
}

function show(task) {
  page.task = task;
  page.shownAt = performance.now();
  beginning.hidden = true;
  ballot.hidden = false;
  progress.replaceChildren(say('span', ...task.progress));
  buttons.hidden = keysHint.hidden = Boolean(task.done);
  if (task.done) {
    instruction.replaceChildren(say('span', task.done));
    instruction.lang = '';
    pictures.replaceChildren();
    return;
  }
  instruction.lang = task.language;
  instruction.textContent = task.instruction;
  pictures.replaceChildren(figure(task.source, "Source", ''), figure(task.left, "First", 'left'), figure(task.right, "Second", 'right'));
  instruction.focus({ preventScroll: true });
}

function failed(text) {
  trouble.textContent = text;
  trouble.hidden = !text;
}

function vote(choice) {
  if (page.task && !page.task.done && !page.busy) keep(choice, (performance.now() - page.shownAt) / 1000);
}

addEventListener('keydown', (event) => {
  if (ballot.hidden || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target.matches('input, select, textarea')) return;
  const found = CHOICES.find(([, keys]) => event.key.length === 1 && keys.includes(event.key.toLowerCase()));
  if (found) {
    event.preventDefault();
    vote(found[0]);
  } else if (event.key === ' ' && !event.target.matches('button, a')) { // flip: the second in the place of the first
    event.preventDefault();
    pictures.classList.add('flipped');
  }
});
addEventListener('keyup', (event) => { if (event.key === ' ') pictures.classList.remove('flipped'); });

function beginBallot() {
  startPreferences();
  nameInput.value = new URLSearchParams(location.search).get('rater') || recall('edit-eval-rater') || '';
  if (new URLSearchParams(location.search).has('rater')) begin.requestSubmit();
}
