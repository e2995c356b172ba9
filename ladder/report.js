/* SPDX-License-Identifier: MIT
 * The stepper of the page: replays the events that the model wrote (ladder/stepper.c). No library, no network. The
 * whole state of a step is computed from the first event on, so going back is the same as going forward.
 *
 * A step shows what every warp of the group does at one line: events of several warps between the same two barriers
 * that have the same line and kind are one step, because nothing orders those warps. */
'use strict';
(() => {
  const PLAY = 1400; /* milliseconds a step */

  const make = (tag, attributes = {}, ...children) => {
    const e = document.createElement(tag);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    e.append(...children);
    return e;
  };
  const plural = (n, word) => n + ' ' + word + (n === 1 ? '' : 's');
  /* 0, 1, 2, 5 becomes "0 to 2 and 5". */
  const list = numbers => {
    const parts = [];
    for (let i = 0; i < numbers.length;) {
      let k = i;
      while (k + 1 < numbers.length && numbers[k + 1] === numbers[k] + 1) k++;
      if (k - i > 1)
        parts.push(numbers[i] + ' to ' + numbers[k]);
      else
        for (let q = i; q <= k; q++) parts.push('' + numbers[q]);
      i = k + 1;
    }
    return parts.length > 1 ? parts.slice(0, -1).join(', ') + ' and ' + parts[parts.length - 1] : parts[0] || '';
  };

  /* ---- events to steps ---- */

  function stepsOf(run) {
    const steps = [], begun = new Set();
    let part = [], launch = null, launchNumber = -1, group = 0, interval = 0;
    const add = (what, events) => steps.push({what, events, launch, launchNumber, group, interval});
    const flush = () => { /* the events between two barriers, warp by warp, side by side where they match */
                          const queues = new Map();
                          for (const e of part) {
                            if (!queues.has(e.warp)) queues.set(e.warp, []);
                            queues.get(e.warp).push(e);
                          }
                          const warps = [...queues.keys()].sort((a, b) => a - b);
                          const same = (a, b) => a.line === b.line && a.do === b.do && a.array === b.array;
                          for (const w of warps) {
                            const own = queues.get(w);
                            while (own.length) {
                              const e = own.shift(), together = [e];
                              for (const other of warps)
                                if (other > w && queues.get(other).length && same(queues.get(other)[0], e))
                                  together.push(queues.get(other).shift());
                              add(e.do, together);
                            }
                          }
                          part = [];
    };
    for (const e of run.events) {
      if (e.do === 'launch' || e.do === 'group' || e.do === 'barrier' || e.do === 'grid barrier') flush();
      if (e.do === 'launch') {
        launch = run.launches[++launchNumber];
        group = interval = 0;
        begun.clear();
        add('launch', [e]);
      } else if (e.do === 'group') {
        group = e.group;
        interval = 0;
        if (launch.groups > 1) add(begun.has(group) ? 'group again' : 'group', [e]);
        begun.add(group);
      } else if (e.do === 'barrier' || e.do === 'grid barrier') {
        add(e.do, [e]);
        interval++;
      } else
        part.push(e);
    }
    flush();
    return steps;
  }

  /* Memory behind the first `count` steps. */
  function memoryAfter(run, steps, count) {
    let memory = [], kept = new Map(), group = 0; /* kept: shared memory of groups that others run beside */
    for (let i = 0; i < count; i++) {
      const s = steps[i];
      if (s.what === 'launch') {
        kept.clear();
        memory = s.launch.arrays.map(a => a.shared ? new Array(a.length).fill(null) : a.start.slice());
        s.launch.arrays.forEach((a, k) => {
          if (a.same >= 0) memory[k] = memory[a.same];
        });
      } else if (s.what === 'group' || s.what === 'group again') {
        kept.set(group, memory.map(m => m.slice()));
        group = s.group;
        s.launch.arrays.forEach((a, k) => {
          if (a.shared) memory[k] = s.what === 'group' ? memory[k].fill(null) : kept.get(group)[k];
        });
      } else
        for (const e of s.events)
          if (e.put)
            e.at.forEach((at, l) => {
              for (let q = 0; q < (e.width || 1); q++) memory[e.array][at + q] = e.put[l * (e.width || 1) + q];
            });
    }
    return memory;
  }

  /* Banks where lanes of one warp must wait for each other: they want different words, or change one word in turn. */
  function collisions(e, banks) {
    const wanted = new Map();
    e.at.forEach((at, l) => {
      const bank = at % banks;
      if (!wanted.has(bank)) wanted.set(bank, {words: new Set(), lanes: [], turns: 0});
      const w = wanted.get(bank);
      w.words.add(at);
      w.lanes.push(e.lanes[l]);
      w.turns = e.do === 'atomic' ? w.lanes.length : w.words.size;
    });
    return [...wanted].filter(([, w]) => w.turns > 1).sort((a, b) => b[1].turns - a[1].turns);
  }

  /* ---- a step in words ---- */

  const verbs = {read: 'read', write: 'write', atomic: 'change, one after the other,'};

  function accessWords(run, s, e) {
    const array = s.launch.arrays[e.array], first = e.warp * run.warp;
    const threads = e.lanes.map(l => l + first), idle = [];
    for (let l = 0; l < Math.min(run.warp, s.launch.threads - first); l++)
      if (!e.on.includes(l)) idle.push(l + first);
    const where = e.at.every((at, i) => at === e.at[0]) && e.at.length > 1
                      ? array.name + '[' + e.at[0] + '], all the same word'
                      : array.name + '[' + list(e.at) + ']' +
                            (e.width > 1 ? ', ' + e.width + ' elements from there on' : '');
    let text = (threads.length > 1 ? 'Lanes ' : 'Lane ') + list(threads) + (threads.length > 1 ? ' ' : ' ') +
               (threads.length > 1 ? verbs[e.do] : verbs[e.do].replace(/^(read|write|change)/, '$1s')) + ' ' + where +
               '.';
    if (idle.length)
      text +=
          ' ' + (idle.length > 1 ? 'Lanes ' : 'Lane ') + list(idle) + (idle.length > 1 ? ' are idle.' : ' is idle.');
    if (array.shared && e.degree > 1) {
      const [bank, w] = collisions(e, run.banks)[0];
      text += ' Bank conflict, ' + e.degree + '-fold: lanes ' + list(w.lanes.map(l => l + first)) +
              (e.do === 'atomic' ? ' change words of bank ' : ' want different words of bank ') + bank +
              ', so the access takes ' + e.degree + ' passes.';
    }
    if (!array.shared) text += ' ' + plural(e.sectors, 'sector') + ' of 32 bytes.';
    if (e.race)
      text += ' RACE: threads ' + e.race[0] + ' and ' + e.race[1] + ' both touch ' + array.name + '[' + e.race[2] +
              '], one of them writes, and no barrier is between them.';
    return text;
  }

  function wordsOf(run, steps, index) {
    const s = steps[index], head = 'Step ' + (index + 1) + ' of ' + steps.length + '. ';
    const e = s.events[0], line = e.line ? 'Line ' + e.line + '. ' : '';
    switch (s.what) {
    case 'launch':
      return head + 'Launch ' + (s.launchNumber + 1) + ' of ' + run.launches.length + ': kernel ' + s.launch.kernel +
             ', ' + plural(s.launch.groups, 'group') + ' of ' + s.launch.threads + ' threads.';
    case 'group':
      return head + 'Group ' + s.group + ' begins. Groups are not ordered; this one is shown now.';
    case 'group again':
      return head + 'Group ' + s.group + ' goes on: all groups have come to the barrier of all groups.';
    case 'grid barrier':
      return head + line + 'Barrier of all groups: group ' + s.group +
             ' has come. It goes on when all groups have come; then what any of them wrote before can be read.';
    case 'wait':
      return head + line +
             s.events.map(x => 'Warp ' + x.warp + ': lanes ' + list(x.lanes.map(l => l + x.warp * run.warp)))
                 .join('; ') +
             ' wait until the bulk copies have arrived. Then its words can be read.';
    case 'barrier':
      return head + line +
             'Barrier: every thread of the group has come here. What was written before it can be read after it.';
    case 'warp barrier':
      return head + line + 'Barrier of the warp: lanes ' + list(e.lanes.map(l => l + e.warp * run.warp)) + ' meet.';
    case 'split':
      return head + line +
             s.events
                 .map(x => 'Warp ' + x.warp + ' diverges: lanes ' + list(x.lanes.map(l => l + x.warp * run.warp)) +
                           ' go on, lanes ' +
                           list(x.on.filter(l => !x.lanes.includes(l)).map(l => l + x.warp * run.warp)) + ' wait.')
                 .join(' ');
    case 'shuffle':
      return head + line +
             s.events
                 .map(x => 'Warp ' + x.warp + ': ' +
                           x.lanes
                               .map((l, i) => (l + x.warp * run.warp) + ' takes from ' + (x.at[i] + x.warp * run.warp))
                               .join(', ') +
                           '. Registers only, no memory.')
                 .join(' ');
    default: {
      const resting = [];
      for (let w = 0; w * run.warp < s.launch.threads; w++)
        if (!s.events.some(x => x.warp === w)) resting.push(w);
      return head + line + s.events.map(x => accessWords(run, s, x)).join(' ') +
             (resting.length
                  ? ' Warp' + (resting.length > 1 ? 's ' : ' ') + list(resting) + ': nothing to do at this line.'
                  : '');
    }
    }
  }

  /* ---- drawing ---- */

  function drawLanes(run, s) {
    const box = make('div', {class: 'lanes'});
    for (let w = 0; w * run.warp < s.launch.threads; w++) {
      const e = s.events.find(x => x.warp === w && x.on), row = make('div', {class: 'warp'});
      row.append(make('span', {class: 'name'}, 'warp ' + w));
      const cells = make('div', {class: 'cells', style: '--columns:' + run.warp});
      for (let l = 0; l < run.warp && w * run.warp + l < s.launch.threads; l++) {
        const at = e ? e.lanes.indexOf(l) : -1, on = e && e.on.includes(l),
              race = e && e.race && (e.race[0] === w * run.warp + l || e.race[1] === w * run.warp + l);
        let kind = 'rest', word = '';
        if (s.what === 'barrier' || s.what === 'grid barrier')
          [kind, word] = ['met', 'here'];
        else if (s.what === 'warp barrier' || s.what === 'wait')
          [kind, word] = on ? ['met', s.what === 'wait' ? 'waits' : 'here'] : ['rest', ''];
        else if (s.what === 'split')
          [kind, word] = !e        ? ['rest', '']
                         : at >= 0 ? ['goes', 'on']
                         : on      ? ['idle', 'waits']
                                   : ['idle', 'idle'];
        else if (s.what === 'shuffle')
          [kind, word] = at >= 0 ? ['read', '\u2190' + (e.at[at] + w * run.warp)] : ['rest', ''];
        else if (e && at >= 0)
          [kind, word] = [e.do, '[' + e.at[at] + ']'];
        else if (e)
          [kind, word] = ['idle', 'idle'];
        const cell = make('span', {class: 'lane ' + kind + (race ? ' race' : ''), 'data-lane': w * run.warp + l},
                          make('b', {}, '' + (w * run.warp + l)), make('i', {}, word));
        cells.append(cell);
      }
      row.append(cells);
      box.append(row);
    }
    return box;
  }

  function drawArray(run, s, k, memory) {
    const array = s.launch.arrays[k], columns = array.shared ? run.banks : 8, marks = new Map();
    const mark = (i, word) => marks.set(i, (marks.get(i) || '') + ' ' + word);
    for (const e of s.events) {
      if (e.array === undefined || (e.array !== k && s.launch.arrays[e.array].same !== k)) continue;
      e.at.forEach(at => {
        for (let q = 0; q < (e.width || 1); q++) mark(at + q, e.do);
      });
      if (array.shared)
        for (const [, w] of collisions(e, run.banks))
          for (const word of w.words) mark(word, 'clash');
      if (e.race) mark(e.race[2], 'race');
    }
    const names = s.launch.arrays.filter((a, q) => q === k || a.same === k).map(a => a.name);
    const box = make('figure', {class: 'memory'});
    box.append(make('figcaption', {}, make('b', {}, names.join(' and ')), names.length > 1 ? ': one array. ' : ': ',
                    array.shared ? 'shared memory of this group; a column is a bank'
                                 : 'global memory; a row is a sector of 32 bytes'));
    const cells = make('div', {class: 'cells', style: '--columns:' + columns});
    if (array.shared)
      for (let b = 0; b < columns; b++) cells.append(make('span', {class: 'bank'}, (b === 0 ? 'bank ' : '') + b));
    memory[k].forEach((v, i) => {
      const text = v === null || v === undefined                   ? '\u00b7'
                   : typeof v === 'number' && !Number.isInteger(v) ? v.toFixed(2)
                   : v > 99999999 || v < -99999999                 ? v.toExponential(0)
                                                                   : '' + v;
      cells.append(
          make('span',
               {class: 'word' + (marks.get(i) || ''), 'data-word': k + ',' + i, title: array.name + '[' + i + ']'},
               make('small', {}, '' + i), text));
    });
    box.append(cells);
    return box;
  }

  /* Which lane touches which word: a line each, over everything. */
  function drawLines(run, s, stage) {
    const old = stage.querySelector('svg.links');
    if (old) old.remove();
    const base = stage.getBoundingClientRect();
    let lines = '';
    for (const e of s.events) {
      if (!e.at || e.array === undefined) continue;
      const k = s.launch.arrays[e.array].same >= 0 ? s.launch.arrays[e.array].same : e.array;
      e.at.forEach((at, l) => {
        const a = stage.querySelector('[data-lane="' + (e.lanes[l] + e.warp * run.warp) + '"]'),
              b = stage.querySelector('[data-word="' + k + ',' + at + '"]');
        if (!a || !b) return;
        const p = a.getBoundingClientRect(), q = b.getBoundingClientRect();
        const up = q.top < p.top;
        lines += '<line class="' + e.do + '" x1="' + (p.left + p.width / 2 - base.left) + '" y1="' +
                 ((up ? p.top : p.bottom) - base.top) + '" x2="' + (q.left + q.width / 2 - base.left) + '" y2="' +
                 ((up ? q.bottom - 2 : q.top + 2) - base.top) + '"/>';
      });
    }
    const holder = make('div');
    holder.innerHTML = '<svg class="links" aria-hidden="true" width="' + base.width + '" height="' + base.height +
                       '">' + lines + '</svg>';
    stage.append(holder.firstChild);
  }

  function drawCode(run, s, box) {
    const line = s.events[0].line || 0;
    if (box.dataset.rung !== run.rung) {
      box.dataset.rung = run.rung;
      box.replaceChildren(...run.text.replace(/\n$/, '')
                              .split('\n')
                              .map((t, i) => make('span', {'data-line': i + 1},
                                                  make('small', {}, ('' + (i + 1)).padStart(3) + '  '), t + '\n'))
                              .slice(Math.max(0, run.text.split('\n').findIndex(t => /^(#define|KERNEL)/.test(t)))));
    }
    for (const e of box.querySelectorAll('.now')) e.classList.remove('now');
    const at = line && box.querySelector('[data-line="' + line + '"]');
    if (!at) return;
    at.classList.add('now');
    box.scrollTop = Math.max(0, at.offsetTop - box.offsetTop - box.clientHeight / 2);
  }

  /* ---- the control ---- */

  function start(section) {
    const runs = JSON.parse(section.querySelector('script').textContent), shape = section.dataset.shape;
    if (!runs.length) return;
    let run = runs[0], steps = stepsOf(run), at = 0, timer = 0;
    const id = shape + '-step-';
    const choose = make('select', {id: id + 'rung'}, ...runs.map(r => make('option', {value: r.rung}, r.rung)));
    const button = (name, label, key) =>
        make('button', {type: 'button', 'data-do': name, 'aria-keyshortcuts': key}, label);
    const first = button('first', 'First', 'Home');
    const back = button('back', 'Back', 'ArrowLeft');
    const play = button('play', 'Play', 'Space');
    const next = button('next', 'Next', 'ArrowRight');
    const last = button('last', 'Last', 'End');
    const slide = make('input', {type: 'range', min: 1, value: 1, id: id + 'slide', 'aria-label': 'step'});
    const words = make('p', {class: 'words', role: 'status', 'aria-live': 'polite', 'aria-atomic': 'true'});
    const stage = make('div', {class: 'stage', 'aria-hidden': 'true'});
    const frame = make('div', {
      class: 'frame',
      tabindex: 0,
      role: 'group',
      'aria-label': 'steps of a rung: left and right arrow keys step, space plays, Home and End',
      'aria-describedby': id + 'words'
    },
                       stage);
    const code = make('pre', {class: 'code', tabindex: 0, 'aria-label': 'the kernel; the current line is marked'});
    const note = make('p', {class: 'soft'});
    words.id = id + 'words';

    function draw() {
      const s = steps[at], memory = memoryAfter(run, steps, at + 1);
      const text = wordsOf(run, steps, at);
      words.textContent = text;
      slide.max = steps.length;
      slide.value = at + 1;
      slide.setAttribute('aria-valuetext', 'step ' + (at + 1) + ' of ' + steps.length);
      first.disabled = back.disabled = at === 0;
      next.disabled = last.disabled = at === steps.length - 1;
      section.dataset.at = at + 1;
      section.dataset.rung = run.rung;
      /* what comes in above the lanes, shared memory below them, what goes out last: lines stay short */
      const shown = s.launch.arrays.map((a, k) => k).filter(k => s.launch.arrays[k].same < 0 && memory[k].length);
      const above = shown.filter(k => k === 0 && !s.launch.arrays[k].shared),
            below = shown.filter(k => !above.includes(k));
      below.sort((a, b) => s.launch.arrays[b].shared - s.launch.arrays[a].shared);
      stage.replaceChildren(...above.map(k => drawArray(run, s, k, memory)), drawLanes(run, s),
                            ...below.map(k => drawArray(run, s, k, memory)));
      drawCode(run, s, code);
      drawLines(run, s, stage);
    }
    const go = to => {
      at = Math.max(0, Math.min(steps.length - 1, to));
      draw();
    };
    function stop() {
      clearInterval(timer);
      timer = 0;
      play.textContent = 'Play';
      play.setAttribute('aria-pressed', 'false');
    }
    function toggle() {
      if (timer) return stop();
      if (at === steps.length - 1) go(0);
      play.textContent = 'Pause';
      play.setAttribute('aria-pressed', 'true');
      timer = setInterval(() => {
        go(at + 1);
        if (at === steps.length - 1) stop();
      }, PLAY);
    }
    function take(name, step = 1) {
      const r = runs.find(x => x.rung === name);
      if (!r) return;
      stop();
      run = r;
      steps = stepsOf(run);
      choose.value = name;
      note.textContent =
          (run.changed ? 'The text has the size of its group in it; here that number is smaller. ' : '') +
          (run.cut ? 'The run is longer than what is shown here. ' : '') + 'n = ' + run.n + '.';
      go(step - 1);
    }
    const act = {
      first: () => go(0),
      back: () => go(at - 1),
      play: toggle,
      next: () => go(at + 1),
      last: () => go(steps.length - 1)
    };
    /* The address shows the step, so that it can be passed on. */
    function share() {
      history.replaceState(null, '', '#step=' + shape + '/' + encodeURIComponent(run.rung) + '/' + (at + 1));
    }
    for (const b of [first, back, play, next, last])
      b.addEventListener('click', () => {
        if (b !== play) stop();
        act[b.dataset.do]();
        share();
      });
    choose.addEventListener('change', () => {
      take(choose.value);
      share();
    });
    slide.addEventListener('input', () => {
      stop();
      go(+slide.value - 1);
      share();
    });
    frame.addEventListener('keydown', e => {
      const does = {ArrowRight: 'next', ArrowLeft: 'back', Home: 'first', End: 'last', ' ' : 'play'}[e.key];
      if (!does || e.altKey || e.ctrlKey || e.metaKey) return;
      e.preventDefault();
      if (does !== 'play') stop();
      act[does]();
      share();
    });
    section.append(make('div', {class: 'controls'}, make('label', {}, 'Rung ', choose),
                        make('span', {class: 'buttons'}, first, back, play, next, last), slide),
                   words, make('div', {class: 'sides'}, frame, code), note);
    take(runs[0].rung);
    new ResizeObserver(() => drawLines(run, steps[at], stage)).observe(stage);

    for (const r of runs) { /* a way to here from each rung's own article */
      const article = document.getElementById(shape + '-' + r.rung);
      if (!article) continue;
      const way = make('a', {href: '#step=' + shape + '/' + r.rung + '/1', class: 'way'}, 'Step through ' + r.rung);
      article.insertBefore(make('p', {}, way), article.querySelector('details'));
    }
    /* #step=reduce/tiled_2/12 in the address shows that step. */
    const follow = () => {
      const m = /^#step=(\w+)\/([^\/]+)\/(\d+)$/.exec(decodeURIComponent(location.hash));
      if (!m || m[1] !== shape) return;
      take(m[2], +m[3]);
      section.scrollIntoView();
      frame.focus({preventScroll: true});
    };
    addEventListener('hashchange', follow);
    follow();
  }
  document.querySelectorAll('.stepper').forEach(start);
})();
