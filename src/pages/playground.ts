import { type Html, html } from './html.ts';
import { type Frame, shellLayout } from './layout.ts';
import { buttonForm, codeBlock, crumbs } from './parts.ts';
import { type Exchange, exchangePanel } from './playground-exchange.ts';

export const CREDENTIAL_NAMES = [
  'code',
  'state',
  'access_token',
  'refresh_token',
  'used_refresh_token',
] as const;

/** Credentials for the next step, by field name. They travel in the page's own forms and are stored nowhere. */
export type PlaygroundCredentials = Readonly<Partial<Record<(typeof CREDENTIAL_NAMES)[number], string>>>;

export type PlaygroundStep =
  | 'exchange'
  | 'userinfo'
  | 'refresh'
  | 'reuse'
  | 'revoke'
  | 'wrong_verifier'
  | 'expired_code'
  | 'parallel'
  | 'limit';

type StepButton = {
  readonly step: PlaygroundStep;
  readonly label: string;
  readonly needs: keyof PlaygroundCredentials | undefined;
};

const FLOW: readonly StepButton[] = [
  { step: 'exchange', label: 'Exchange the code', needs: 'code' },
  { step: 'userinfo', label: 'Read userinfo', needs: 'access_token' },
  { step: 'refresh', label: 'Refresh', needs: 'refresh_token' },
  { step: 'reuse', label: 'Use the old refresh token again', needs: 'used_refresh_token' },
  { step: 'revoke', label: 'Revoke', needs: 'refresh_token' },
];
const FAILURES: readonly StepButton[] = [
  { step: 'wrong_verifier', label: 'Wrong verifier', needs: 'code' },
  { step: 'expired_code', label: 'Expired code', needs: undefined },
  { step: 'parallel', label: 'Two parallel refreshes', needs: 'refresh_token' },
  { step: 'limit', label: 'Rate limit (429)', needs: undefined },
];
export const STEPS: readonly PlaygroundStep[] = [...FLOW, ...FAILURES].map(({ step }) => step);

export type PlaygroundProps = {
  readonly frame: Frame;
  readonly clientId: string;
  readonly title: string;
  readonly paragraphs: readonly string[];
  readonly exchanges: readonly Exchange[];
  readonly credentials: PlaygroundCredentials;
  /** The authorization request that starts the flow. */
  readonly authorization: { readonly url: string; readonly path: string };
  /** The URL that the authorize endpoint redirected to. */
  readonly callback?: string | undefined;
};

export function playgroundPage(props: PlaygroundProps): Html {
  const { frame, clientId, title, paragraphs, exchanges, callback } = props;
  return shellLayout(
    `${title} · Playground`,
    'dashboard',
    frame,
    html`${crumbs(
      [
        ['/dashboard', 'Applications'],
        ['/dashboard/playground', 'Playground'],
      ],
      title,
    )}
<h1>${title}</h1>

${paragraphs.map((paragraph) => html`<p>${paragraph}</p>\n`)}
${callback && html`<section class="panel"><div class="body">${codeBlock('callback', 'The browser came back to', callback)}</div></section>`}
${exchanges.map(exchangePanel)}
${nextSteps(props)}
<p class="small muted">These are real requests of your own application <a href="/dashboard/apps/${clientId}/requests">Playground</a>, made for you; its request log and incidents fill as you go. You find it under <a href="/account/connections">Connections</a> as well.</p>`,
  );
}

function nextSteps({ frame, credentials, authorization }: PlaygroundProps): Html {
  const button = ({ step, label }: StepButton, index: number) =>
    buttonForm({
      action: '/dashboard/playground',
      csrfToken: frame.csrfToken,
      label,
      className: index === 0 && credentials.code !== undefined ? 'primary' : '',
      fields: { step, ...defined(credentials) },
    });
  const possible = ({ needs }: StepButton) => needs === undefined || credentials[needs] !== undefined;
  const flow = FLOW.filter(possible);
  return html`<section class="panel" aria-labelledby="next">
<header><h2 id="next">Next</h2></header>
<div class="body stack">
${flow.length > 0 && html`<div class="actions">${flow.map(button)}</div>`}
<h3>See it fail</h3>
<div class="actions">${FAILURES.filter(possible).map((failure) => button(failure, 1))}</div>
<hr>
${codeBlock('authorize', flow.length > 0 ? 'Begin again: the authorization request' : 'Begin: the authorization request', authorization.url.replaceAll('&', '\n&'))}
<div class="actions"><a class="button${flow.length === 0 ? ' primary' : ''}" href="${authorization.path}">Go to authorization</a></div>
</div>
</section>`;
}

const defined = (credentials: PlaygroundCredentials): Record<string, string> =>
  Object.fromEntries(Object.entries(credentials).filter(([, value]) => value !== undefined));
