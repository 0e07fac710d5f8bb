// Several runs on one page: the way back to each of them.
document.querySelector('.masthead nav').prepend(say('a', 'view.runs', {}, { href: '/' }));
document.querySelector('#results .facts').append(make('div', {}, say('dt', 'view.runs'),
  ...data.runs.map(({ name, address }) => make('dd', {}, make('a', { href: address }, name)))));
