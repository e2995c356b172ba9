/* SPDX-License-Identifier: MIT
 * The exercises of the lesson: an answer goes to the grader (WebAssembly, in this page) in a worker, so that the page
 * stays alive, and comes back as what `tally ladder grade --json` prints. No network: the worker's text is a blob. */
'use strict';
(() => {
  /* Runs in the worker. The grader opens no file: every call that it could make of a system fails with 8 (EBADF). */
  const work = () => {
    let grader = null;
    const open = async bytes => {
      const unit = await WebAssembly.compile(bytes), system = {};
      for (const i of WebAssembly.Module.imports(unit)) system[i.name] = () => 8;
      const made = (await WebAssembly.instantiate(unit, {wasi_snapshot_preview1: system})).exports;
      made._initialize();
      return made;
    };
    const grade = texts => {
      const places = texts.map(text => {
        const bytes = new TextEncoder().encode(text + '\0'), at = grader.capacity(bytes.length);
        new Uint8Array(grader.memory.buffer, at, bytes.length).set(bytes);
        return at;
      });
      const at = grader.grade(...places), all = new Uint8Array(grader.memory.buffer);
      const answer = new TextDecoder().decode(all.subarray(at, all.indexOf(0, at)));
      places.forEach(place => grader.done(place));
      return answer;
    };
    onmessage = async e => {
      try {
        grader = grader || await open(e.data.bytes);
        postMessage(JSON.parse(grade(e.data.texts)));
      } catch (error) {
        grader = null; /* its memory may be in any state */
        postMessage({error: 'the grader stopped: ' + error.message});
      }
    };
  };

  const make = (tag, attributes, ...children) => {
    const e = document.createElement(tag);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    e.append(...children);
    return e;
  };
  const bytes = () => Uint8Array.from(atob(document.querySelector('#grader').textContent), c => c.charCodeAt(0));
  let worker = null;
  const ask = texts => new Promise(resolve => {
    worker = worker || new Worker(URL.createObjectURL(new Blob(['(' + work + ')()'], {type: 'text/javascript'})));
    worker.onmessage = e => resolve(e.data);
    worker.onerror = e => resolve({error: 'the grader could not be started: ' + (e.message || 'no worker')});
    worker.postMessage({bytes: bytes(), texts});
  });

  /* Marks a line of the answer, and brings it into view. */
  const select = (area, line) => {
    const lines = area.value.split('\n'), from = lines.slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0);
    area.focus();
    area.setSelectionRange(from, from + (lines[line - 1] || '').length);
    area.scrollTop = (line - 5) * area.scrollHeight / lines.length;
  };

  const show = (box, area, got) => {
    if (got.error) return box.replaceChildren(make('p', {class: 'failed'}, 'Not graded: ' + got.error + '.'));
    const whole = got.points === got.of;
    const list = make('ul', {}, ...got.checks.map(c => make(
        'li', {}, make('span', {class: c.passed ? 'passed' : 'failed'}, c.passed ? 'passed' : 'FAILED'),
        ' ' + c.check + ', ' + c.points + ' of ' + c.of + ': ' + c.says + '.')));
    for (const c of got.complaints) {
      if (!c.line) continue;
      const at = make('button', {type: 'button'}, 'line ' + c.line);
      at.onclick = () => select(area, c.line);
      list.append(make('li', {}, at, ' n = ' + c.n + ', ' + c.dtype + ': ' + c.text + '.'));
    }
    box.replaceChildren(make('p', {class: whole ? 'passed' : 'failed'},
                             (whole ? 'Right: ' : 'Not yet: ') + got.points + ' of ' + got.of + ' points.'), list);
  };

  const all = [...document.querySelectorAll('.exercise')];
  for (const e of all) {
    const area = e.querySelector('textarea'), box = e.querySelector('.grade'), start = area.value;
    const button = e.querySelector('[data-do=check]');
    const check = async () => {
      if (button.disabled) return;
      for (const x of all) x.querySelector('[data-do=check]').disabled = true; /* one at a time */
      box.replaceChildren(make('p', {}, 'The model runs your kernel ...'));
      show(box, area, await ask([e.querySelector('.assignment').textContent, 'answer', area.value]));
      for (const x of all) x.querySelector('[data-do=check]').disabled = false;
      e.dataset.graded = 1 + Number(e.dataset.graded || 0);
    };
    button.onclick = check;
    area.onkeydown = key => {
      if (key.key !== 'Enter' || !(key.ctrlKey || key.metaKey)) return;
      key.preventDefault();
      check();
    };
    e.querySelector('[data-do=again]').onclick = () => {
      area.value = start;
      box.replaceChildren();
      area.focus();
    };
  }
})();
