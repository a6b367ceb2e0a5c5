import { htmlResponse } from '../http/html-response.ts';
import { redirect } from '../http/response.ts';
import { deleteApplicationPage } from '../pages/delete-application.ts';
import { applicationPath, requireOwnedApp } from './require-owned-app.ts';

/** GET /dashboard/apps/:client_id/delete */
export const confirmDeletion = requireOwnedApp((_app, { application: { clientId, name }, frame }) =>
  htmlResponse(deleteApplicationPage({ frame, clientId, name })),
);

/** POST /dashboard/apps/:client_id/delete */
export const deleteApplication = requireOwnedApp(async (_app, { application, applications, form, frame }) => {
  const { clientId, name } = application;
  const typed = form.get('name') ?? '';
  if (asRead(typed) !== asRead(name)) {
    const error = 'This is not its name. Nothing was deleted.';
    return htmlResponse(deleteApplicationPage({ frame, clientId, name, typed, error }), { status: 400 });
  }
  // Renamed or gone since it was read: the question is asked anew, or there is nothing to ask.
  if (!(await applications.delete(clientId, name))) return redirect(`${applicationPath(clientId)}/delete`);
  return redirect('/dashboard?done=deleted', { clientId: clientId, reason: 'deleted' });
});

/** As it looks on the page: several spaces show as one, and one character can be written in two ways. */
const asRead = (name: string): string => name.normalize('NFC').replaceAll(/\s+/g, ' ').trim();
