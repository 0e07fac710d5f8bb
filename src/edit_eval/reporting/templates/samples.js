// What the gallery needs to know of each sample beyond what is recorded. Only scored judgements have a number.
function meanOf(numbers) {
  return numbers.length ? numbers.reduce((sum, one) => sum + one, 0) / numbers.length : null;
}

function spreadOf(numbers) {
  return numbers.length > 1 ? Math.max(...numbers) - Math.min(...numbers) : null;
}

function written(score) {
  return score.toFixed(2);
}

// The judgements of one edit by one judge: their mean, and how many there should be. No number mixes two judges.
function scoring(edit, judge) {
  const judgements = edit.judgements.filter((one) => one.judge === judge);
  const scores = scoresOf(judgements);
  return { judgements, scores, mean: meanOf(scores), complete: scores.length === judgements.length };
}

// What edits and judgements the filters leave of a sample, with the numbers to sort by.
function chosenOf(sample, wanted) {
  const edits = sample.edits.filter((edit) => !wanted.edit_model || edit.model === wanted.edit_model);
  const scorings = edits.map((edit) => scoring(edit, wanted.judge));
  const means = scorings.map((one) => one.mean).filter((mean) => mean !== null);
  const spreads = edits.map((edit) => spreadOf(scoresOf(edit.judgements))).filter((spread) => spread !== null);
  return {
    edits,
    matching: edits.filter((edit, place) => matches(scorings[place].judgements, wanted)),
    lowest: means.length ? Math.min(...means) : null,
    highest: means.length ? Math.max(...means) : null,
    models: spreadOf(means),
    answers: spreads.length ? Math.max(...spreads) : null,
  };
}

function scoresOf(judgements) {
  return judgements.filter((one) => one.status === 'ok').map((one) => one.score);
}

// Whether the chosen judge's judgements of an edit have the status and a score within the bounds that are asked for.
function matches(judgements, { status, lowest = null, highest = null }) {
  const unscored = (one) => one.status !== 'ok';
  if (status && !judgements.some((one) => (status === 'unscored' ? unscored(one) : one.status === status))) return false;
  return (lowest === null && highest === null) || scoresOf(judgements).some((score) => (
    (lowest === null || score >= lowest) && (highest === null || score <= highest)));
}

function editName(sample, edit) {
  const several = sample.edits.filter((one) => one.model === edit.model).length > 1;
  return several ? `${edit.model} · ${words('detail.seed', { seed: edit.seed })}` : edit.model;
}

// The score of an edit as the reader sees it: a number only if there is one, the status if not.
function scoreLabel(edit, judge) {
  const { judgements, scores, mean, complete } = scoring(edit, judge);
  if (mean === null) {
    const status = judgements.length ? judgements[0].status : edit.status;
    return say('span', `status.${status === 'ok' ? 'pending' : status}`, {}, { class: 'unscored' });
  }
  const label = make('span', { class: 'score' }, written(mean));
  if (!complete) {
    label.append(' ', say('span', 'score.partly', { scored: scores.length, total: judgements.length }, { class: 'partly' }));
  }
  return label;
}
