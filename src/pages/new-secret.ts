import { type Html, html } from './html.ts';
import { type Frame, shellLayout } from './layout.ts';
import { copyable, crumbs, notice } from './parts.ts';

type NewSecretProps = {
  readonly frame: Frame;
  readonly clientId: string;
  readonly name: string;
  readonly secret: string;
  /** True for the first secret of a new application. */
  readonly created: boolean;
};

/** The only page that ever shows a client secret: only its hash is stored. */
export function newSecretPage({ frame, clientId, name, secret, created }: NewSecretProps): Html {
  const path = `/dashboard/apps/${clientId}`;
  const title = created ? 'Application created' : 'New client secret';
  return shellLayout(
    title,
    'dashboard',
    frame,
    html`${crumbs(
      [
        ['/dashboard', 'Applications'],
        [path, name],
      ],
      created ? 'Created' : 'New secret',
    )}
<h1>${title}</h1>
${notice('warning', html`<strong>Copy the client secret now.</strong> It is shown this once and cannot be read again. Keep it on your server: never in a page, an app on people’s devices or a repository.`)}
<section class="panel"><dl class="body facts">
<dt>Application</dt><dd>${name}</dd>
<dt>Client ID</dt><dd>${copyable('client-id', 'client ID', clientId)}</dd>
<dt>Client secret</dt><dd>${copyable('client-secret', 'client secret', secret)}</dd>
</dl></section>
${
  !created &&
  html`<p>Both secrets work. Deploy the new one, wait until the earlier one is no longer used, then remove that.</p>`
}
<div class="actions"><a class="button primary" href="${path}">I have stored it</a></div>`,
  );
}
