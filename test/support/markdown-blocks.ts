import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

/** A fenced block of a page. */
export type Block = {
  readonly page: string;
  readonly line: number;
  /** The first word after the fence. */
  readonly language: string;
  /** False for `sh no-run`: cannot be run here. */
  readonly run: boolean;
  readonly info: string;
  readonly text: string;
};

/** Every documentation page, by its path from the root. */
export function allPages(): string[] {
  const inDocs = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join('docs', path));
  const atRoot = readdirSync(ROOT).filter((path) => path.endsWith('.md'));
  return [...atRoot, ...inDocs].sort();
}

export const readPage = (page: string): string => readFileSync(join(ROOT, page), 'utf8');

export function blocksOf(page: string): Block[] {
  const content = readPage(page);
  return [...content.matchAll(/^(`{3,}|~{3,})(.*)\n([\s\S]*?)^\1$/gm)].map((match) => {
    const info = match[2]!.trim();
    const [language = '', ...flags] = info.split(/\s+/);
    const line = content.slice(0, match.index).split('\n').length;
    return { page, line, language, run: !flags.includes('no-run'), info, text: match[3]! };
  });
}

/** The shell blocks of a page that a reader would paste, in order. */
export const pastedFrom = (page: string): string[] =>
  blocksOf(page)
    .filter(({ language, run }) => language === 'sh' && run)
    .map(({ text }) => text);
