import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { Postern } from '../support/command-line.ts';
import { allPages, type Block, blocksOf, pastedFrom, ROOT, readPage } from '../support/markdown-blocks.ts';

/** Pages whose commands need more than a data folder, with the test that runs them. */
const RUN_ELSEWHERE: Readonly<Record<string, string>> = {
  'README.md': 'test/docs/readme.test.ts',
  'docs/integrating.md': 'test/docs/integrating.test.ts',
  'docs/introspection.md': 'test/docs/integrating.test.ts',
};

/** Other names for `sh` and `ts`, which the tests below would not find. */
const MISSPELT = ['bash', 'shell', 'zsh', 'console', 'shellsession', 'typescript', 'javascript', 'js', 'tsx'];

const pages = allPages();
const blocks = pages.flatMap(blocksOf);
const inLanguage = (language: string) => blocks.filter((block) => block.language === language);
const place = ({ page, line }: Block) => `${page}:${line}`;

test('code blocks have a known language', () => {
  for (const block of blocks) {
    assert.ok(!MISSPELT.includes(block.language), `${place(block)}: write sh or ts, not ${block.language}`);
    const flags = block.info.split(/\s+/).slice(1);
    assert.ok(['', 'no-run'].includes(flags.join(' ')), `${place(block)}: ${block.info}`);
    assert.ok(block.run || block.language === 'sh', `${place(block)}: no-run is for sh alone`);
  }
});

test('every shell block is valid shell syntax', () => {
  for (const block of inLanguage('sh')) {
    assert.doesNotThrow(
      () => execFileSync('/bin/sh', ['-n'], { input: block.text, stdio: ['pipe', 'ignore', 'pipe'] }),
      place(block),
    );
  }
});

for (const page of pages.filter((one) => pastedFrom(one).length > 0)) {
  if (page in RUN_ELSEWHERE) {
    test(`the commands of ${page} have a test of their own`, () =>
      assert.ok(readPage(RUN_ELSEWHERE[page]!).includes(`'${page}'`)));
    continue;
  }
  test(`the commands of ${page} work when pasted in order`, async (t) => {
    // Otherwise a test runner that a page starts would report to this one.
    const script = ['unset NODE_TEST_CONTEXT', ...pastedFrom(page)].join('\n');
    const { code, stderr } = await new Postern(t).execute('/bin/sh', ['-eu', '-c', script]);
    assert.deepEqual([code, stderr], [0, '']);
  });
}

/** Type-checks files as if they were in the root of the project; returns the compiler's output. */
function typeCheck(texts: readonly string[]): string {
  const cache = join(ROOT, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'docs-'));
  try {
    const files = texts.map((text, place) => {
      writeFileSync(join(folder, `${place}.ts`), `${text.replaceAll("'./", `'${ROOT}/`)}\nexport {};\n`);
      return `${place}.ts`;
    });
    const compilerOptions = { noUnusedLocals: false, noUnusedParameters: false };
    const config = { extends: join(ROOT, 'tsconfig.json'), compilerOptions, include: [], files };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['--project', folder], { encoding: 'utf8' });
    return '';
  } catch (error) {
    return (error as { stdout: string }).stdout;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('every TypeScript block passes the type checker', () => {
  assert.equal(typeCheck(inLanguage('ts').map((block) => `// ${place(block)}\n${block.text}`)), '');
  assert.match(
    typeCheck(["import { jsonResponse } from './src/http/response.ts';\njsonResponse(1);"]),
    /TS2345/,
  );
});

/** GitHub's anchors: lower case, spaces to hyphens, punctuation gone. */
const anchorsOf = (page: string): string[] =>
  [...readPage(page).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

test('every link between pages has a target', () => {
  for (const page of pages) {
    const prose = readPage(page).replaceAll(/^```[\s\S]*?^```$/gm, '');
    for (const [, target] of prose.matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)) {
      const [path, anchor] = target!.split('#');
      const file = path ? join(dirname(page), path) : page;
      assert.ok(existsSync(join(ROOT, file)), `${page} → ${target}`);
      if (anchor) assert.ok(anchorsOf(file).includes(anchor), `${page} → ${target}`);
    }
  }
});

test('every file that a page names is there', () => {
  for (const page of pages) {
    for (const [, path] of readPage(page).matchAll(/`((?:src|test|bench|examples|deploy)\/[\w./-]+)`/g))
      assert.ok(existsSync(join(ROOT, path!)), `${page}: ${path}`);
  }
});

test('every npm script that a page mentions exists', () => {
  const { scripts } = JSON.parse(readPage('package.json')) as { scripts: Record<string, string> };
  for (const page of pages) {
    for (const [, name] of readPage(page).matchAll(/npm run ([a-z][a-z:-]*)/g))
      assert.ok(name! in scripts, `${page}: npm run ${name}`);
  }
});
