import { type Html, html } from './html.ts';
import { type Frame, shellLayout } from './layout.ts';
import { crumbs, csrfField, field } from './parts.ts';

type DeleteApplicationProps = {
  readonly frame: Frame;
  readonly clientId: string;
  readonly name: string;
  readonly typed?: string;
  readonly error?: string;
};

export function deleteApplicationPage({ frame, clientId, name, typed, error }: DeleteApplicationProps): Html {
  const path = `/dashboard/apps/${clientId}`;
  return shellLayout(
    `Delete ${name}`,
    'dashboard',
    frame,
    html`${crumbs(
      [
        ['/dashboard', 'Applications'],
        [path, name],
      ],
      'Delete',
    )}
<h1>Delete ${name}?</h1>
<form class="panel danger" method="post" action="${path}/delete">
<div class="body stack">
${csrfField(frame.csrfToken)}
<p>This cannot be undone. Its client ID, its secrets and all of its tokens stop working at once, and everybody who connected it is disconnected.</p>
<p>Only for a while? You can <a href="${path}#ending">disable it</a> instead.</p>
<p>Type <strong class="verbatim">${name}</strong> to confirm.</p>
${field({ name: 'name', label: 'Name of the application', value: typed ?? '', errors: error === undefined ? undefined : [error], autocomplete: 'off', required: true })}
</div>
<footer class="actions"><button class="danger primary">Delete this application</button><a class="button" href="${path}">Cancel</a></footer>
</form>`,
  );
}
