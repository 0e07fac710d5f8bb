// The facts about a sample and its edits, and the judges' words.
const INSTRUCTIONS = { en: "Instruction, English", zh: "Instruction, Chinese" };
const FLAGS = {
  identical_to_source: "identical to the source",
  other_aspect_ratio: "other aspect ratio than the source",
  other_when_repeated: "another picture when repeated",
  one_of_several: "one of several pictures",
  kept: "kept from the round before",
};

function aboutSample(sample) {
  const parts = [];
  const instructions = Object.entries(sample.instructions).filter(([, words]) => words);
  for (const [code, instruction] of instructions) {
    parts.push(say('h3', INSTRUCTIONS[code] || "Instruction"), make('p', { class: 'detail-instruction', lang: code }, instruction));
  }
  parts.push(make('p', { class: 'labels' },
    sample.category ? sayWords('span', nameOf('category_title', sample.category)) : null,
    sample.difficulty ? sayWords('span', nameOf('difficulty', sample.difficulty)) : null,
    ...sample.tags.map((tag) => make('span', {}, tag))));
  if (sample.fault) parts.push(make('p', { class: 'fault' }, sample.fault));
  if (sample.description) parts.push(say('h3', "The source shows"), make('p', {}, sample.description));
  if (sample.rationale) parts.push(say('h3', "What matters"), make('p', {}, sample.rationale));
  return parts;
}

// The results of one of the two compared edits: each judge's own numbers and words, never a mean of judges.
function aboutEdit(edit) {
  if (data.no_edit.includes(edit.status)) {
    // A failed edit is named once, not for each judge.
    const failed = make('section', { class: 'verdict' },
      make('header', {}, make('span', { class: 'judge' }, edit.model), sayStatus('strong', edit.status, { class: 'unscored' })),
      edit.reason ? sayReason('p', edit.reason) : null);
    return [make('div', { class: 'verdicts' }, failed)];
  }
  const repeated = new Set(edit.judgements.map((one) => one.repeat)).size > 1;
  const { judge } = wantedNow();
  const chosenFirst = [...edit.judgements].sort((one, other) => (other.judge === judge) - (one.judge === judge));
  const verdicts = chosenFirst.map((one) => verdict(one, repeated));
  if (!verdicts.length && data.judges.length) verdicts.push(say('p', "No judgement of this edit is recorded."));
  return verdicts.length ? [make('div', { class: 'verdicts' }, ...verdicts)] : [];
}

// A judge, told from a model of the same maker.
function sayJudge(judge) {
  return say('span', "{} (judge)", [judge], { class: 'judge' });
}

function verdict(judgement, repeated) {
  const { headline, scores } = data.scoring[judgement.judge];
  const several = Object.keys(scores).length > 1;
  const asked = Math.max(0, ...judgement.readings.flatMap((reading) => Object.values(reading).map((one) => one.asked)));
  const head = make('header', {},
    sayJudge(judgement.judge),
    repeated ? say('span', "repeat {}", [judgement.repeat + 1], { class: 'quiet' }) : null,
    asked > 1 ? say('span', "asked {} times", [asked], { class: 'quiet' }) : null,
    value(judgement, headline, 'strong', several));
  const made = make('section', { class: 'verdict' }, head);
  if (judgement.status !== 'ok' && judgement.reason) made.append(sayReason('p', judgement.reason));
  if (several) made.append(otherScores(judgement));
  made.append(...replies(judgement));
  if (judgement.tokens) made.append(say('p', "{} tokens read, {} written", judgement.tokens, { class: 'quiet' }));
  return made;
}

// Answers of judges that were shown two edits: first about the two compared, or about the one with each other, then the rest.
function aboutBattles(sample, edits) {
  const taking = (one) => edits.filter((edit) => one.models.includes(edit.model) && one.edit_seed === edit.edit_seed).length;
  const most = Math.max(0, ...sample.battles.map(taking));
  const meant = sample.battles.filter((one) => most && taking(one) === most);
  const rest = sample.battles.filter((one) => !meant.includes(one));
  if (!sample.battles.length) return [];
  return [make('section', { class: 'about-battles' },
    say('h3', "Two edits at a time"), make('div', { class: 'verdicts' }, ...meant.map((one) => aboutBattle(sample, one))),
    rest.length ? make('details', {}, say('summary', "The other battles of this sample: {}", [rest.length]), ...rest.map((one) => aboutBattle(sample, one))) : null)];
}

function sidesOf(sample, { models, edit_seed }) {
  return models.map((model) => pictureName(sample, sample.edits.find((edit) => edit.model === model && edit.edit_seed === edit_seed)));
}

function aboutBattle(sample, battle) {
  const names = sidesOf(sample, battle);
  const button = make('button', { type: 'button', class: 'plain' }, sayWords('span', labelOf(sample, names[0])), ' : ', sayWords('span', labelOf(sample, names[1])));
  button.addEventListener('click', () => {
    pick('left', names[0]);
    pick('right', names[1]);
  });
  const scores = Object.entries(battle.outcomes);
  const came = scores.map(([score, outcome]) => make('span', { class: 'outcome' },
    scores.length > 1 ? make('small', {}, `${score} `) : null, sayOutcome(battle, score, outcome)));
  const made = make('section', { class: 'verdict' }, make('header', {}, sayJudge(battle.judge), button, ...came));
  if (battle.status !== 'ok' && battle.reason) made.append(sayReason('p', battle.reason));
  made.append(...battle.answers.map((one) => answerOf(battle, one)));
  return made;
}

function sayOutcome(battle, score, outcome) {
  if (outcome === 'missing') return sayStatus('strong', battle.status === 'ok' ? 'pending' : battle.status, { class: 'unscored' });
  if (outcome === 'tie') return say('strong', "tie");
  if (outcome !== 'contradiction') return say('strong', "{} is preferred", [battle.models[outcome === 'first' ? 0 : 1]]);
  const answers = battle.answers.filter((one) => one.question.startsWith(`${score}.`));
  const words = answers.every((one) => one.prefers === one.first) ? "contradiction: each time the one shown first"
    : answers.every((one) => one.prefers && one.prefers !== one.first) ? "contradiction: each time the one shown last" : "contradiction";
  return say('strong', words, [], { class: 'unscored' });
}

function answerOf(battle, one) {
  const prefers = one.prefers === null ? sayStatus('span', one.status, { class: 'unscored' })
    : one.prefers ? say('span', "prefers {}", [one.prefers]) : say('span', "says that both are equal");
  const head = make('header', {}, say('span', "{} shown first", [one.first], { class: 'question' }), prefers,
    Object.keys(battle.outcomes).length > 1 ? make('span', { class: 'quiet' }, one.question) : null,
    one.number ? say('span', "reading {}", [one.number + 1], { class: 'quiet' }) : null);
  const why = one.status !== 'ok' && one.reason && one.reason !== battle.reason ? sayReason('p', one.reason) : null;
  return make('div', { class: 'reply' }, head, why, one.text ? quote(one.text) : null);
}

// What analyses say of single samples, as people's votes.
function saidOf(sample) {
  return data.remarks.filter((one) => one.of[sample.id]).map((one) => make('section', { class: 'remarks' },
    sayWords('h3', one.title), ...one.of[sample.id].map((line) => sayWords('p', line))));
}

// The column of an edit's first round; an edit without rounds is its own.
function firstOf(model) {
  const refinement = data.refinements[model];
  return refinement && refinement.before ? firstOf(refinement.before) : model;
}

// The rounds of the compared edits, a row each: an edit, its critique, and the edit made from that.
function aboutRounds(sample, edits) {
  const chains = edits.map((edit) => sample.edits.filter((one) => one.edit_seed === edit.edit_seed && firstOf(one.model) === firstOf(edit.model)));
  const shownOnce = chains.filter((chain, place) => chain.length > 1 && chains.findIndex((other) => other[0] === chain[0]) === place);
  return shownOnce.map((chain) => make('section', { class: 'about-rounds' }, say('h3', "From round to round"),
    make('ol', { class: 'film' }, ...chain.map((edit) => make('li', {}, inFilm(sample, edit))))));
}

function inFilm(sample, edit) {
  const name = pictureName(sample, edit);
  const button = make('button', { type: 'button', class: 'plain' }, editFrame(sample, edit, 'beside'),
    make('span', { class: 'choice-label' }, sayWords('span', labelOf(sample, name), { class: 'model' }), scoreLabel(edit, wantedNow())));
  button.addEventListener('click', () => pick('right', name));
  const kept = edit.made_in !== '';
  const { critique } = edit;
  const said = critique && !kept ? make('div', { class: 'reply' },
    make('header', {}, make('span', { class: 'question' }, critique.judge),
      critique.score === null ? sayStatus('span', critique.status, { class: 'unscored' })
        : say('span', "{}, in no other number", [Number(critique.score.toFixed(2))], { class: 'quiet' })),
    critique.words ? make('blockquote', { ...labelled('label', "Critique") }, critique.words) : null) : null;
  return make('div', {}, button, kept ? say('p', FLAGS.kept, [], { class: 'quiet' }) : null, said);
}

// The instruction given to the edit model in place of the sample's.
function toldWhat(edit) {
  if (!edit.instruction || edit.made_in) return [];
  return [say('h3', "The edit model was told"), make('p', { class: 'told' }, edit.instruction)];
}

// A score with its name, or why it is missing.
function value(judgement, score, tag, named) {
  const { status } = outcomeOf(judgement, score);
  const scale = scaleOf(judgement.judge, score);
  const name = named ? [sayWords('small', scale.title), ' '] : [];
  if (status !== 'ok') return make(tag, { class: 'unscored' }, ...name, sayStatus('span', status));
  const spread = judgement.spread && judgement.spread[score];
  const between = spread === undefined ? [] : [' ', say('small', "± {} between readings", [written(spread, scale)])];
  return make(tag, { class: 'score' }, ...name, written(judgement.scores[score], scale), ...between);
}

function otherScores(judgement) {
  const { headline, scores } = data.scoring[judgement.judge];
  const names = Object.keys(scores).filter((name) => name !== headline && outcomeOf(judgement, name));
  return make('ul', { class: 'other-scores' }, ...names.map((name) => {
    const { status, reason } = outcomeOf(judgement, name);
    const why = status !== 'ok' && reason && reason !== judgement.reason ? sayReason('p', reason) : null;
    return make('li', {}, value(judgement, name, 'span', true), why);
  }));
}

function quote(text) {
  return make('blockquote', { ...labelled('label', "Answer") }, ...inWords(text));
}

// The judge's answers: a single one as it is, several each under its name.
function replies(judgement) {
  const found = judgement.readings.flatMap((reading, number) => Object.entries(reading).map(([question, one]) => ({ question, number, ...one })));
  if (found.length === 1 && found[0].mass === undefined) return found[0].text ? [quote(found[0].text)] : [];
  return found.map((one) => {
    const named = (name, number) => [...(name === one.question ? [] : [name]), Number(number.toFixed(4))].join(' ');
    const values = Object.entries(one.values).map((pair) => named(...pair)).join(', ');
    if (one.applies === false) {
      return make('div', { class: 'reply' }, make('header', {}, make('span', { class: 'question' }, one.question),
        say('span', "not asked: an earlier answer rules it out", [], { class: 'quiet' })));
    }
    const head = make('header', {},
      make('span', { class: 'question' }, one.question),
      judgement.readings.length > 1 ? say('span', "reading {}", [one.number + 1], { class: 'quiet' }) : null,
      one.status === 'ok' ? make('span', { class: 'quiet' }, values) : sayStatus('span', one.status, { class: 'unscored' }),
      one.mass === 'unknown' ? say('span', "mass: unknown", [], { class: 'quiet' }) : null,
      typeof one.mass === 'number' ? say('span', "mass {}", [one.mass.toFixed(3)], { class: 'quiet' }) : null);
    const why = one.status !== 'ok' && one.reason && one.reason !== judgement.reason ? sayReason('p', one.reason) : null;
    return make('div', { class: 'reply' }, head, why, one.text ? quote(one.text) : null);
  });
}

// A judge's answer: JSON in it as a list of names and values, with the original answer folded below.
function inWords(text) {
  const [begin, end] = [text.search(/[{[]/), Math.max(text.lastIndexOf('}'), text.lastIndexOf(']')) + 1];
  const found = begin >= 0 && end > begin ? parsed(text.slice(begin, end)) : null;
  if (found === null || typeof found !== 'object') return [text];
  const around = [text.slice(0, begin), text.slice(end)].map((part) => part.replace(/\x60{3}(json)?/g, '').trim());
  return [
    around[0] ? make('p', {}, around[0]) : null, listOf(found), around[1] ? make('p', {}, around[1]) : null,
    make('details', { class: 'as-it-came' }, say('summary', "As it came"), make('pre', {}, text)),
  ].filter(Boolean);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    return null;
  }
}

function listOf(value) {
  if (value === null || typeof value !== 'object') return make('span', {}, String(value));
  if (Array.isArray(value)) {
    const flat = value.every((one) => one === null || typeof one !== 'object');
    return flat ? make('span', {}, value.join(', ')) : make('ul', {}, ...value.map((one) => make('li', {}, listOf(one))));
  }
  return make('dl', {}, ...Object.entries(value).map(([name, one]) => make('div', {}, make('dt', {}, `${name.replaceAll('_', ' ')}: `), make('dd', {}, listOf(one)))));
}

function facts(sample, edit) {
  const flags = edit.flags.map((flag) => (Object.hasOwn(FLAGS, flag) ? say('li', FLAGS[flag], [], { class: 'unscored' }) : make('li', {}, flag)));
  return make('ul', { class: 'edit-facts' },
    ...flags,
    edit.made_in ? say('li', FLAGS.kept, [], { class: 'unscored' }) : null,
    edit.width ? make('li', {}, `${edit.width} × ${edit.height}`) : null,
    edit.own_size ? say('li', "it came as {} × {}", edit.own_size) : null,
    say('li', "seed {}", [edit.seed]),
    edit.seconds ? say('li', "{} s", [edit.seconds.toFixed(1)]) : null,
    edit.device ? make('li', {}, edit.device) : null,
    fullSize(edit.picture, "Edit at full size", "The edit at full size is in the run directory, which is not beside this page."),
    fullSize(sample.source, outside(sample.source) ? "Source at full size, on this computer" : "Source at full size", "The source at full size is not on this computer."));
}

// A link to a picture's file, or why there is none: edits move with the run directory, sources stay where they are.
function fullSize(picture, words, gone) {
  if (!picture.file) return null;
  const item = make('li', {}, say('a', words, [], { href: picture.file, target: '_blank', rel: 'noopener' }));
  const file = new Image();
  file.onerror = () => item.replaceChildren(say('span', gone, [], { class: 'quiet' }));
  file.src = picture.file;
  return item;
}

function outside(picture) {
  return Boolean(picture.file) && picture.file.startsWith('file:');
}
