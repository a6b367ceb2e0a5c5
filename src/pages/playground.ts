import { type Html, html } from './html.ts';
import { type Frame, shellLayout } from './layout.ts';
import { buttonForm, codeBlock, crumbs, notice } from './parts.ts';
import { type Exchange, exchangePart } from './playground-exchange.ts';

/** What the next request can be made of. It travels in the page's own forms and is kept nowhere. */
export type Held = Readonly<
  Partial<Record<'code' | 'state' | 'access_token' | 'refresh_token' | 'used_refresh_token', string>>
>;

export type Step =
  | 'exchange'
  | 'userinfo'
  | 'refresh'
  | 'reuse'
  | 'revoke'
  | 'wrong_verifier'
  | 'expired_code'
  | 'parallel'
  | 'limit';

type Offer = { readonly step: Step; readonly label: string; readonly needs: keyof Held | undefined };

/** The way of a session, and the ways to break it. */
const WALK: readonly Offer[] = [
  { step: 'exchange', label: 'Exchange the code', needs: 'code' },
  { step: 'userinfo', label: 'Read userinfo', needs: 'access_token' },
  { step: 'refresh', label: 'Refresh', needs: 'refresh_token' },
  { step: 'reuse', label: 'Use the old refresh token again', needs: 'used_refresh_token' },
  { step: 'revoke', label: 'Revoke', needs: 'refresh_token' },
];
const BREAK: readonly Offer[] = [
  { step: 'wrong_verifier', label: 'Wrong verifier', needs: 'code' },
  { step: 'expired_code', label: 'Expired code', needs: undefined },
  { step: 'parallel', label: 'Two parallel refreshes', needs: 'refresh_token' },
  { step: 'limit', label: 'Rate limit (429)', needs: undefined },
];
export const STEPS: readonly Step[] = [...WALK, ...BREAK].map(({ step }) => step);

export type PlaygroundProps = {
  readonly frame: Frame;
  readonly clientId: string;
  readonly title: string;
  /** What this step shows, a paragraph each. */
  readonly words: readonly string[];
  readonly exchanges: readonly Exchange[];
  readonly held: Held;
  /** The authorization request to begin with. */
  readonly begin: { readonly url: string; readonly path: string };
  /** What came back from authorization. */
  readonly callback?: string | undefined;
  readonly problem?: string | undefined;
};

export function playgroundPage(props: PlaygroundProps): Html {
  const { frame, clientId, title, words, exchanges, callback, problem } = props;
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
${problem && notice('error', problem)}
${words.map((paragraph) => html`<p>${paragraph}</p>\n`)}
${callback && html`<section class="panel"><div class="body">${codeBlock('callback', 'The browser came back to', callback)}</div></section>`}
${exchanges.map(exchangePart)}
${next(props)}
<p class="small muted">These are real requests of your own application <a href="/dashboard/apps/${clientId}/requests">Playground</a>, made for you; its request log and incidents fill as you go. You find it under <a href="/account/connections">Connections</a> as well.</p>`,
  );
}

function next({ frame, held, begin }: PlaygroundProps): Html {
  const button = ({ step, label }: Offer, index: number) =>
    buttonForm({
      action: '/dashboard/playground',
      csrfToken: frame.csrfToken,
      label,
      className: index === 0 && held.code !== undefined ? 'primary' : '',
      fields: { step, ...defined(held) },
    });
  const possible = ({ needs }: Offer) => needs === undefined || held[needs] !== undefined;
  const walk = WALK.filter(possible);
  return html`<section class="panel" aria-labelledby="next">
<header><h2 id="next">Next</h2></header>
<div class="body stack">
${walk.length > 0 && html`<div class="actions">${walk.map(button)}</div>`}
<h3>See it fail</h3>
<div class="actions">${BREAK.filter(possible).map((offer) => button(offer, 1))}</div>
<hr>
${codeBlock('authorize', walk.length > 0 ? 'Begin again: the authorization request' : 'Begin: the authorization request', begin.url.replaceAll('&', '\n&'))}
<div class="actions"><a class="button${walk.length === 0 ? ' primary' : ''}" href="${begin.path}">Go to authorization</a></div>
</div>
</section>`;
}

const defined = (held: Held): Record<string, string> =>
  Object.fromEntries(Object.entries(held).filter(([, value]) => value !== undefined));
