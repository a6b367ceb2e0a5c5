import type { SecretState } from './application-secrets.ts';
import { type Html, html } from './html.ts';
import { type Frame, shellLayout } from './layout.ts';
import { crumbs, csrfField, momentAgo, notice } from './parts.ts';

type RemoveSecretProps = {
  readonly frame: Frame;
  readonly clientId: string;
  readonly name: string;
  readonly secret: {
    readonly id: string;
    readonly tail: string;
    readonly lastUsedAt: number | null;
    readonly state: SecretState;
  };
  readonly now: number;
};

export function removeSecretPage({ frame, clientId, name, secret, now }: RemoveSecretProps): Html {
  const path = `/dashboard/apps/${clientId}`;
  return shellLayout(
    'Remove secret',
    'dashboard',
    frame,
    html`${crumbs(
      [
        ['/dashboard', 'Applications'],
        [path, name],
      ],
      'Remove secret',
    )}
<h1>Remove the secret …${secret.tail}?</h1>
${lastUse(secret, now)}
<form class="panel" method="post" action="${path}/secrets/${secret.id}/remove">
<div class="body">
${csrfField(frame.csrfToken)}
<p>Requests with it are refused at once, and it cannot be brought back. The other secret goes on working.</p>
</div>
<footer class="actions"><button class="danger primary">Remove secret</button><a class="button" href="${path}">Cancel</a></footer>
</form>`,
  );
}

function lastUse({ lastUsedAt, state }: RemoveSecretProps['secret'], now: number): Html {
  if (lastUsedAt === null) return notice('info', 'It was never used.');
  const used = html`It was last used ${momentAgo(lastUsedAt, now)}.`;
  return state === 'in_use'
    ? notice(
        'warning',
        html`<strong>This secret is in use.</strong> ${used} Whatever still uses it will fail.`,
      )
    : notice('info', used);
}
