"""OpenSearch and Elasticsearch as search services."""
