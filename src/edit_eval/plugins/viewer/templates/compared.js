// Several runs on one page: links back to the list, and to each of them.
document.querySelector('.masthead nav').prepend(say('a', "Runs", [], { href: '/' }));
document.getElementById('verdict').append(make('p', { class: 'compared-runs' }, say('span', "Runs"), ': ',
  ...data.runs.flatMap(({ name, address }, place) => [place ? ', ' : '', make('a', { href: address }, name)])));
