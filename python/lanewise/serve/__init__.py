"""`lanewise serve`: the lab over the native core, machines read, runs kept, for several users of one host.

`settings` has what may be set, `app` puts the routes together, `guard` says who may ask, and how much. What
takes work is done in processes of their own: `worker` is what runs there, `workers` starts and ends them.
`runs` has the runs that wait and go on, `history` those that are kept, `page_link` is what a page uses in
place of its own simulator, and `service` has all of these for the routes.
"""
