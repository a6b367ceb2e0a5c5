/**
 * HTML that is safe to send. The class stays in this module and its private field makes the type nominal,
 * so the escaping `html` tag is the only way to an `Html`.
 */
class SafeHtml {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  get text(): string {
    return this.#text;
  }
}

export type Html = SafeHtml;

type Part = Html | string | number | false | null | undefined | readonly Part[];

const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escapeText = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character]!);

function render(part: Part): string {
  if (part === false || part === null || part === undefined) return '';
  if (part instanceof SafeHtml) return part.text;
  if (typeof part === 'object') return part.map(render).join('');
  return escapeText(String(part));
}

/** Literal parts are taken as they are, everything put between them is escaped. */
export function html(literals: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new SafeHtml(literals.reduce((text, literal, i) => text + render(parts[i - 1]) + literal));
}
