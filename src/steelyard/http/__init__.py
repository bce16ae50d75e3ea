"""HTTP for model services and search services: one client, retries, rate limits, usage counts and secrets.

`Client` sends a request over a kept connection, within limits of time and size. `Service` adds retries, pacing and
usage counts for model services that answer JSON. `in_batches` keeps several requests of a service in flight.
`secrets` is the only place that reads, sends and hides keys. Only the standard library is needed.
"""
