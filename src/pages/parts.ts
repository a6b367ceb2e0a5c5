import { type Html, html } from './html.ts';

/** The parts that pages are made of. */

export type Tone = 'info' | 'success' | 'warning' | 'error';

/** Something to be read first. Errors interrupt a screen reader, the rest waits its turn. */
export function notice(tone: Tone, content: Html | string): Html {
  return html`<div class="notice ${tone}" role="${tone === 'error' ? 'alert' : 'status'}">${content}</div>`;
}

export type FieldProps = {
  readonly name: string;
  readonly label: string;
  readonly type?: 'text' | 'email' | 'password' | 'url';
  readonly value?: string;
  readonly hint?: string;
  /** What is wrong with it; several when it has several lines. */
  readonly errors?: readonly string[] | undefined;
  readonly autocomplete?: string;
  readonly required?: boolean;
  readonly maxLength?: number;
  readonly minLength?: number;
  readonly autofocus?: boolean;
  /** Where a page has several fields of one name. */
  readonly id?: string;
};

/** A labelled input with its hint and its errors, tied together for screen readers. */
export function field(props: FieldProps): Html {
  const { name, type = 'text', value = '', autocomplete, required, maxLength, minLength, autofocus } = props;
  const { id = name } = props;
  const input = html`<input id="${id}" name="${name}" type="${type}" value="${type === 'password' ? '' : value}"${attributes(
    {
      autocomplete,
      maxlength: maxLength,
      minlength: minLength,
      required,
      // Of several the browser takes the first: that is where to begin mending.
      autofocus: autofocus || (props.errors !== undefined && props.errors.length > 0),
    },
  )}${described(props)}>`;
  const reveal = html`<button type="button" data-reveal="${id}" aria-pressed="false" aria-label="Show ${props.label.toLowerCase()}" hidden>Show</button>`;
  return labelled(
    props,
    type === 'password' ? html`<div class="with-button">${input}${reveal}</div>` : input,
  );
}

/** Several lines of text. */
export function textArea(props: FieldProps & { readonly rows?: number }): Html {
  const { name, id = name, value = '', required, rows = 4 } = props;
  return labelled(
    props,
    html`<textarea id="${id}" name="${name}" rows="${rows}" spellcheck="false"${attributes({ required })}${described(props)}>${value}</textarea>`,
  );
}

function labelled({ name, id = name, label, hint, errors }: FieldProps, control: Html): Html {
  return html`<div class="field">
<label for="${id}">${label}</label>
${control}
${errors?.length === 1 && html`<span class="error" id="${id}-error">${errors[0]}</span>`}
${errors && errors.length > 1 && html`<ul class="error" id="${id}-error">${errors.map((error) => html`<li>${error}</li>`)}</ul>`}
${hint && html`<span class="hint" id="${id}-hint">${hint}</span>`}
</div>`;
}

function described({ name, id = name, hint, errors }: FieldProps): Html {
  const wrong = errors !== undefined && errors.length > 0;
  const by = [wrong && `${id}-error`, hint && `${id}-hint`].filter(Boolean).join(' ');
  return html`${by && html` aria-describedby="${by}"`}${wrong && html` aria-invalid="true"`}`;
}

function attributes(values: Record<string, string | number | boolean | undefined>): Html {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== false);
  return html`${given.map(([name, value]) => (value === true ? html` ${name}` : html` ${name}="${String(value)}"`))}`;
}

/** What a list shows while there is nothing in it: why, and what to do. */
export function emptyState(title: string, text: string, action?: Html): Html {
  return html`<div class="empty"><h2>${title}</h2><p>${text}</p>${action}</div>`;
}

/** Where one is: the pages above, and this one. */
export function crumbs(above: readonly (readonly [path: string, label: string])[], here: string): Html {
  return html`<nav class="crumbs" aria-label="Breadcrumb"><ol>
${above.map(
  ([path, label]) => html`<li><a href="${path}">${label}</a></li>
`,
)}<li aria-current="page">${here}</li>
</ol></nav>`;
}

/** A value that people take elsewhere: whole in sight, selected by one click, copied by the button where script runs. */
export function copyable(id: string, label: string, value: Html | string): Html {
  return html`<div class="copyable"><code id="${id}">${value}</code><button type="button" class="small" data-copy="${id}" hidden>Copy<span class="visually-hidden"> ${label}</span></button></div>`;
}

/** Several lines of code with a button to copy them. */
export function codeBlock(id: string, label: string, text: string, className = ''): Html {
  return html`<div class="stack tight"><div class="row spread"><h3>${label}</h3><button type="button" class="small" data-copy="${id}" hidden>Copy<span class="visually-hidden"> ${label}</span></button></div>
<pre class="${className}" tabindex="0" role="region" aria-label="${label}"><code id="${id}">${text}</code></pre></div>`;
}

/** The anti-forgery value of a form, checked by `Browser.hasValidCsrfToken`. */
export function csrfField(csrfToken: string): Html {
  return html`<input type="hidden" name="form_token" value="${csrfToken}">`;
}

/** A form with one button and no fields to fill. */
export function buttonForm(props: {
  readonly action: string;
  readonly csrfToken: string;
  readonly label: string;
  readonly className?: string;
  readonly fields?: Readonly<Record<string, string>>;
}): Html {
  const { action, csrfToken, label, className = '', fields = {} } = props;
  return html`<form method="post" action="${action}">
${csrfField(csrfToken)}
${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<button class="${className}">${label}</button>
</form>`;
}

/** A moment in words a person can read and a machine can parse. Times are UTC: the server does not know the reader's zone. */
export function moment(ms: number): Html {
  const iso = new Date(ms).toISOString();
  const words = new Intl.DateTimeFormat('en-GB', {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: 'UTC',
  }).format(ms);
  return html`<time datetime="${iso}">${words} UTC</time>`;
}

/** How long ago, with the exact moment for those who look closer. */
export function momentAgo(ms: number, now: number): Html {
  return html`<time datetime="${new Date(ms).toISOString()}" title="${new Date(ms).toUTCString()}">${ago(ms, now)}</time>`;
}

/** How long ago, coarsely. */
export function ago(ms: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - ms) / 1000));
  const steps: readonly (readonly [number, string])[] = [
    [86_400, 'day'],
    [3_600, 'hour'],
    [60, 'minute'],
  ];
  for (const [length, unit] of steps) {
    const count = Math.floor(seconds / length);
    if (count >= 1) return `${count} ${unit}${count === 1 ? '' : 's'} ago`;
  }
  return 'just now';
}

/** A stretch of time in words, as exact as its length deserves. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  const steps: readonly (readonly [number, string])[] = [
    [86_400_000, 'days'],
    [3_600_000, 'hours'],
    [60_000, 'minutes'],
  ];
  const [length, unit] = steps.find(([length]) => ms >= 2 * length) ?? steps[2]!;
  return `${Math.floor(ms / length)} ${unit}`;
}

/** A moment to the millisecond: for what happens within one second. */
export function exactMoment(ms: number): Html {
  const iso = new Date(ms).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 23)} UTC</time>`;
}
