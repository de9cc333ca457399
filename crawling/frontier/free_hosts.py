"""When a host is free, in SQL."""

#: a host is free at `due_at`, or, where its shift was lost, a whole delay after the lease: the
#: shift may have fetched until then
FREE_AT = (
    "CASE WHEN h.shift_id IS NULL THEN h.due_at ELSE greatest(h.due_at, h.lease_until + "
    "make_interval(secs => h.delay_seconds)) END"
)
