import type { Source } from './sources.ts';

const found = (
  sources: readonly Source[],
  kind: 'comments' | 'identifiers',
  problemOf: (text: string) => string | undefined,
): string[] =>
  sources.flatMap((source) =>
    source[kind].flatMap(({ text, line }) => {
      const problem = problemOf(text);
      return problem ? [`${source.path}:${line} ${problem}`] : [];
    }),
  );

/** The numbered headings of a document: `## 4. Endpoints` is 4, `### 4.1 Code exchange` is 4.1. */
export const sectionsOf = (document: string): ReadonlySet<string> =>
  new Set([...document.matchAll(/^#+ (\d+(?:\.\d+)*)\.? /gm)].map(([, section]) => section!));

/** Comments cite the interface as "(protocol 4.3)" or "(protocol 4.1 and 4.2, RFC …)". */
export const unknownSections = (sources: readonly Source[], sections: ReadonlySet<string>): string[] =>
  found(sources, 'comments', (text) => {
    if (/\bspec(?:ification)? §?\d/i.test(text)) return 'cites a specification that is not in the repository';
    const cited = [...text.matchAll(/\bprotocol (\d[\d.]*\d|\d)((?:,? (?:and )?\d[\d.]*)*)/g)].flatMap(
      ([, first, rest]) => [first!, ...(rest!.match(/\d+(?:\.\d+)*/g) ?? [])],
    );
    const missing = cited.find((section) => !sections.has(section));
    return missing && `cites section ${missing}, which docs/protocol.md does not have`;
  });

const OPENINGS = /^(?:what|who|whoever|whatever|whom|whose|whichever)\b/i;

/** A comment starts with a noun or a verb. */
export const riddles = (sources: readonly Source[]): string[] =>
  found(sources, 'comments', (text) => {
    const opening = OPENINGS.exec(text)?.[0];
    return opening && `starts a comment with ${opening}: start with a noun or a verb`;
  });

/** Words of an identifier: `revokedReason`, `REVOKED_REASON` and `#revokedReason` are all revoked and reason. */
const wordsOf = (identifier: string): string[] =>
  identifier
    .split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/)
    .map((word) => word.toLowerCase());

export type RetiredWord = {
  readonly word: string;
  readonly instead: string;
  /** Plain English in a sentence, and misleading only as a name. */
  readonly inNamesOnly?: true;
};

/** Names and comments that use a word for which the project has decided on another. */
export function retiredWords(sources: readonly Source[], retired: readonly RetiredWord[]): string[] {
  const all = new Map(retired.map((one) => [one.word, one]));
  const complaint = (
    words: readonly string[],
    accepts: (one: RetiredWord) => boolean,
  ): string | undefined => {
    const one = words.map((word) => all.get(word)).find((entry) => entry && accepts(entry));
    return one && `says "${one.word}": say ${one.instead}`;
  };
  return [
    ...found(sources, 'identifiers', (text) => complaint(wordsOf(text), () => true)),
    ...found(sources, 'comments', (text) =>
      complaint(text.toLowerCase().match(/[a-z]+/g) ?? [], ({ inNamesOnly }) => !inNamesOnly),
    ),
  ];
}
