// What the gallery computes for each sample from the records. Only scored judgements have a number.
function sayStatus(tag, status, attributes = {}) {
  return sayWords(tag, nameOf('status', status), attributes);
}

// A run whose judges only compare edits has no score to show or to sort by.
data.scoring[''] = { headline: '', scores: { '': { lowest: null, highest: null, higher_is_better: true, digits: 2, title: itself('') } } };

function meanOf(numbers) {
  return numbers.length ? numbers.reduce((sum, one) => sum + one, 0) / numbers.length : null;
}

function spreadOf(numbers) {
  return numbers.length > 1 ? Math.max(...numbers) - Math.min(...numbers) : null;
}

function scaleOf(judge, score) {
  return data.scoring[judge].scores[score];
}

function written(value, { digits }) {
  const text = value.toFixed(digits);
  return Number(text) ? text : text.replace('-', '');
}

// The outcome of one score of a judgement; null if it does not apply to the sample.
function outcomeOf(judgement, score) {
  if (Object.hasOwn(judgement.scores, score)) return { status: 'ok', score: judgement.scores[score], reason: '' };
  if (Object.hasOwn(judgement.missing, score)) {
    const [status, reason] = judgement.missing[score];
    return { status, reason };
  }
  const nothing = judgement.status !== 'ok' && !Object.keys(judgement.missing).length;
  return nothing ? { status: judgement.status, reason: judgement.reason } : null;
}

// One score of one edit by one judge: its mean and its outcomes. No number mixes two judges or scores.
function scoring(edit, { judge, score }) {
  const judgements = edit.judgements.filter((one) => one.judge === judge);
  const outcomes = judgements.map((one) => outcomeOf(one, score)).filter(Boolean);
  const scores = scoresOf(outcomes);
  return { outcomes, scores, mean: meanOf(scores), complete: scores.length === outcomes.length };
}

// The mean of one score over all edits of a judge: being stricter than another judge is no disagreement about an edit.
const levels = new Map();

function levelOf(judge, score) {
  const key = JSON.stringify([judge, score]);
  if (!levels.has(key)) {
    const means = data.samples.flatMap((sample) => sample.edits.map((edit) => scoring(edit, { judge, score }).mean));
    levels.set(key, meanOf(means.filter((mean) => mean !== null)) || 0);
  }
  return levels.get(key);
}

// Scores of an edit by judges and repeats, relative to each judge's level: of judges that give the score, or have it as
// headline like the chosen judge, on the same scale.
function answersOf(edit, { judge, score }) {
  const alike = (one, other) => ['lowest', 'highest', 'higher_is_better'].every((key) => one[key] === other[key]);
  const leads = data.scoring[judge].headline === score;
  return edit.judgements.flatMap((one) => {
    const name = leads ? data.scoring[one.judge].headline : score;
    const scale = scaleOf(one.judge, name);
    return scale && alike(scale, scaleOf(judge, score)) 
      ? scoresOf([outcomeOf(one, name)].filter(Boolean)).map((found) => found - levelOf(one.judge, name)) : [];
  });
}

// The edits and judgements of a sample that pass the filters, with the numbers to sort by.
function chosenOf(sample, wanted) {
  const edits = sample.edits.filter((edit) => !wanted.edit_model || edit.model === wanted.edit_model);
  const scorings = edits.map((edit) => scoring(edit, wanted));
  const means = scorings.map((one) => one.mean).filter((mean) => mean !== null);
  const spreads = edits.map((edit) => spreadOf(answersOf(edit, wanted))).filter((spread) => spread !== null);
  return {
    edits,
    matching: edits.filter((edit, place) => (matches(scorings[place].outcomes, wanted) || (wanted.show === 'failed' && !wanted.status && data.no_edit.includes(edit.status)))
      && (!(wanted.wrong || '').startsWith('only:') || wanted.wrong === `only:${edit.model}`)),
    lowest: means.length ? Math.min(...means) : null,
    highest: means.length ? Math.max(...means) : null,
    models: spreadOf(means),
    judges: spreads.length ? Math.max(...spreads) : null,
  };
}

// The bar below which an edit is wrong: the reader's, else the middle of the scale, or the mean of all on an open one.
function barOf({ judge, score, bar }) {
  if (bar !== null) return bar;
  const { lowest, highest } = scaleOf(judge, score);
  return lowest === null || highest === null ? levelOf(judge, score) : (lowest + highest) / 2;
}

// True if an edit model got a sample wrong: it made no edit, or its edits' mean is on the worse side of the bar. Null if
// unknown, because the judge gave no score or the sample is not for it.
function gotWrong(sample, model, wanted) {
  const edits = sample.edits.filter((edit) => edit.model === model);
  const means = edits.map((edit) => scoring(edit, wanted).mean).filter((mean) => mean !== null);
  if (!means.length) return edits.some((edit) => data.no_edit.includes(edit.status)) || null;
  const over = meanOf(means) - barOf(wanted);
  return scaleOf(wanted.judge, wanted.score).higher_is_better ? over < 0 : over > 0;
}

// True if `all` edit models got the sample wrong, if `none` did, or if `only:` the named one did.
function isWrong(sample, wanted) {
  return data.edit_models.every((model) => gotWrong(sample, model, wanted) === (wanted.wrong === 'all' || wanted.wrong === `only:${model}`));
}

function scoresOf(outcomes) {
  return outcomes.filter((one) => one.status === 'ok').map((one) => one.score);
}

function unscored({ status }) {
  return status !== 'ok';
}

// True if the chosen score of an edit has the wanted status, or any but `ok` among the failed, and is within the bounds.
function matches(outcomes, { status, show, lowest = null, highest = null }) {
  if (show === 'failed' && !outcomes.some(unscored)) return false;
  if (status && !outcomes.some((one) => one.status === status)) return false;
  return (lowest === null && highest === null) || scoresOf(outcomes).some((score) => (
    (lowest === null || score >= lowest) && (highest === null || score <= highest)));
}

function editName(sample, edit) {
  const several = sample.edits.filter((one) => one.model === edit.model).length > 1;
  return several ? `${edit.model} · ${words("seed {}", [edit.seed])}` : edit.model;
}

// How many of its battles an edit has won; null if it has none, or was not made.
function wonLabel(edit, judge) {
  if (edit.status !== 'ok') return null;
  const [won, lost] = edit.won[judge] || [];
  return won === undefined ? null : say('span', "won {}, lost {}", [won, lost], { class: 'won' });
}

// The score of an edit as shown: its number, or its status if it has none.
function scoreLabel(edit, wanted) {
  if (!wanted.judge) return wonLabel(edit, data.battle_judges[0]);
  const { outcomes, scores, mean, complete } = scoring(edit, wanted);
  if (mean === null) {
    if (!outcomes.length && edit.judgements.some((one) => one.judge === wanted.judge)) {
      return say('span', "not asked", [], { class: 'quiet' });
    }
    const status = outcomes.length ? outcomes[0].status : edit.status;
    return sayStatus('span', status === 'ok' ? 'pending' : status, { class: 'unscored' });
  }
  const label = make('span', { class: 'score' }, written(mean, scaleOf(wanted.judge, wanted.score)));
  if (!complete) {
    label.append(' ', say('span', "{} of {}", [scores.length, outcomes.length], { class: 'partly' }));
  }
  return label;
}
