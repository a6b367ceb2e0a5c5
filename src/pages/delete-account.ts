import { type Html, html } from './html.ts';
import { type Frame, shellLayout } from './layout.ts';
import { csrfField, field, notice } from './parts.ts';

type DeleteAccountProps = {
  readonly frame: Frame;
  readonly connections: number;
  /** Names of the user's own applications, which must be deleted first. */
  readonly owned: readonly string[];
  readonly fault?: string | undefined;
};

export function deleteAccountPage({ frame, connections, owned, fault }: DeleteAccountProps): Html {
  return shellLayout(
    'Delete your account',
    'account',
    frame,
    html`<h1>Delete your account</h1>
<section class="panel danger"><div class="body stack">
${owned.length > 0 ? ownedApplications(owned) : form(frame, connections, fault)}
</div></section>`,
  );
}

function ownedApplications(owned: readonly string[]): Html {
  return html`${notice('warning', 'You still have applications of your own. Delete them first, so that nobody is left with one that nobody looks after.')}
<ul>${owned.map((name) => html`<li>${name}</li>`)}</ul>
<div class="actions"><a class="button primary" href="/dashboard">Go to your applications</a><a class="button" href="/account">Keep my account</a></div>`;
}

const connectionsText = (count: number): string =>
  count === 0
    ? 'No application is connected to it.'
    : `${count === 1 ? 'One application is' : `${count} applications are`} disconnected at once.`;

function form(frame: Frame, connections: number, fault: string | undefined): Html {
  return html`<p>This cannot be undone. ${connectionsText(connections)} Your profile, your address and your activity are removed, and you are signed out everywhere.</p>
<form class="stack narrow" method="post" action="/account/delete">
${csrfField(frame.csrfToken)}
<input class="visually-hidden" type="email" name="email" value="${frame.email}" autocomplete="username" readonly tabindex="-1" aria-hidden="true">
${field({ name: 'current_password', label: 'Your password', type: 'password', autocomplete: 'current-password', required: true, hint: 'To be sure that it is you.', errors: fault ? [fault] : [] })}
<div class="actions"><button class="danger">Delete my account</button><a class="button" href="/account">Keep it</a></div>
</form>`;
}
