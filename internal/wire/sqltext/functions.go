package sqltext

import "strings"

// function judges a call by its name, or what else stands before a bracket.
func function(name string) Access {
	if harmless[name] {
		return Reads
	}
	if effective[name] {
		return Writes
	}
	for _, prefix := range effectivePrefixes {
		if strings.HasPrefix(name, prefix) {
			return Writes
		}
	}
	return Calls
}

func words(lists ...string) map[string]bool {
	all := map[string]bool{}
	for _, list := range lists {
		for _, w := range strings.Fields(list) {
			all[w] = true
		}
	}
	return all
}

// harmless are keywords, types and functions that change nothing.
var harmless = words(
	`in exists any all some and or not where on from select values as then when else case by having union
	except intersect using over filter group join lateral limit offset between like ilike is array row distinct
	cast if with recursive materialized sets cube rollup end interval of`,
	`char character varchar varying numeric decimal float bit time timestamp timestamptz int int4 int8 text`,
	`count sum min max avg stddev variance every bool_and bool_or array_agg string_agg json_agg jsonb_agg
	json_object_agg jsonb_object_agg percentile_cont percentile_disc row_number rank dense_rank ntile lag lead
	first_value last_value nth_value`,
	`coalesce nullif greatest least abs ceil ceiling floor round trunc sign mod power sqrt exp ln log random
	lower upper initcap length char_length octet_length substring substr position strpos left right trim btrim
	ltrim rtrim lpad rpad replace translate overlay concat concat_ws format repeat reverse split_part md5 encode
	decode regexp_replace regexp_match regexp_matches to_char to_date to_number to_timestamp`,
	`now clock_timestamp statement_timestamp transaction_timestamp age date_part date_trunc extract make_date
	make_interval make_timestamp`,
	`unnest generate_series array_length array_position array_to_string string_to_array cardinality array_append
	json_build_object jsonb_build_object json_build_array jsonb_build_array row_to_json to_json to_jsonb
	jsonb_array_elements json_array_elements jsonb_each jsonb_extract_path jsonb_set`,
	`current_setting version current_database pg_backend_pid format_type pg_get_expr pg_table_is_visible
	pg_get_indexdef pg_get_constraintdef obj_description col_description pg_sleep has_table_privilege`,
)

// effective are built-in functions that change data, or rely on those that do.
var effective = words(
	`nextval setval lastval currval pg_notify pg_reload_conf pg_promote pg_switch_wal pg_terminate_backend
	pg_cancel_backend pg_create_restore_point pg_import_system_collations pg_export_snapshot pg_extension_config_dump
	pg_log_standby_snapshot pg_rotate_logfile pg_log_backend_memory_contexts pg_prewarm pg_truncate_visibility_map
	txid_current pg_current_xact_id gin_clean_pending_list brin_summarize_new_values brin_summarize_range
	brin_desummarize_range`,
)

var effectivePrefixes = []string{
	"lo_", "lowrite", "dblink", "pg_advisory_", "pg_try_advisory_", "pg_stat_reset", "pg_stat_statements_reset", "pg_logical_",
	"pg_replication_", "pg_create_", "pg_drop_", "pg_copy_", "pg_start_backup", "pg_stop_backup", "pg_backup_",
	"pg_wal_replay_", "pg_file_", "pg_sync_", "pg_restore_", "pg_clear_", "pg_set_", "pg_switch_", "pg_sequence_last",
	"database_to_xml", "query_to_xml", "cursor_to_xml",
}
