/** HTML that is safe to send. Only the `html` tag makes it, and it escapes every text it is given. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

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
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(render).join('');
  return escapeText(String(part));
}

export function html(literals: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(literals.reduce((text, literal, i) => text + render(parts[i - 1]) + literal));
}
