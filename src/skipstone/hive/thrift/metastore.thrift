// The part of the Hive metastore's interface that is spoken here, from Hive 0.10 to 4.1: names and numbers are the
// protocol's. A field that is not listed is skipped when read. `optional` is said where it shows: Hive's own text form of
// such a struct leaves the field out when it is not set.

struct FieldSchema { 1: string name, 2: string type, 3: string comment }
struct EnvironmentContext { 1: map<string, string> properties }
struct Order { 1: string col, 2: i32 order }
struct SerDeInfo { 1: string name, 2: string serializationLib, 3: map<string, string> parameters }
struct SkewedInfo {
  1: list<string> skewedColNames, 2: list<list<string>> skewedColValues, 3: map<list<string>, string> skewedColValueLocationMaps
}
struct StorageDescriptor {
  1: list<FieldSchema> cols, 2: string location, 3: string inputFormat, 4: string outputFormat, 5: bool compressed,
  6: i32 numBuckets, 7: SerDeInfo serdeInfo, 8: list<string> bucketCols, 9: list<Order> sortCols,
  10: map<string, string> parameters, 11: optional SkewedInfo skewedInfo,
  12: optional bool storedAsSubDirectories
}
struct Database {
  1: string name, 2: string description, 3: string locationUri, 4: map<string, string> parameters,
  6: string ownerName, 7: i32 ownerType, 8: string catalogName
}
struct Table {
  1: string tableName, 2: string dbName, 3: string owner, 4: i32 createTime, 5: i32 lastAccessTime, 6: i32 retention,
  7: StorageDescriptor sd, 8: list<FieldSchema> partitionKeys, 9: map<string, string> parameters,
  10: string viewOriginalText, 11: string viewExpandedText, 12: string tableType, 14: optional bool temporary,
  15: optional bool rewriteEnabled, 17: optional string catName, 18: optional i32 ownerType
}
struct Partition {
  1: list<string> values, 2: string dbName, 3: string tableName, 4: i32 createTime, 5: i32 lastAccessTime,
  6: StorageDescriptor sd, 7: map<string, string> parameters, 9: optional string catName
}
struct TableMeta { 1: required string dbName, 2: required string tableName, 3: required string tableType, 4: string comments }

struct BooleanColumnStatsData {
  1: required i64 numTrues, 2: required i64 numFalses, 3: required i64 numNulls, 4: binary bitVectors
}
struct LongColumnStatsData {
  1: i64 lowValue, 2: i64 highValue, 3: required i64 numNulls, 4: required i64 numDVs, 5: binary bitVectors, 6: binary histogram
}
struct DoubleColumnStatsData {
  1: double lowValue, 2: double highValue, 3: required i64 numNulls, 4: required i64 numDVs, 5: binary bitVectors,
  6: binary histogram
}
struct StringColumnStatsData {
  1: required i64 maxColLen, 2: required double avgColLen, 3: required i64 numNulls, 4: required i64 numDVs,
  5: binary bitVectors
}
struct BinaryColumnStatsData {
  1: required i64 maxColLen, 2: required double avgColLen, 3: required i64 numNulls, 4: binary bitVectors
}
struct Decimal { 1: required binary unscaled, 3: required i16 scale }
struct DecimalColumnStatsData {
  1: Decimal lowValue, 2: Decimal highValue, 3: required i64 numNulls, 4: required i64 numDVs, 5: binary bitVectors,
  6: binary histogram
}
struct Date { 1: required i64 daysSinceEpoch }
struct DateColumnStatsData {
  1: Date lowValue, 2: Date highValue, 3: required i64 numNulls, 4: required i64 numDVs, 5: binary bitVectors,
  6: binary histogram
}
struct Timestamp { 1: required i64 secondsSinceEpoch }
struct TimestampColumnStatsData {
  1: Timestamp lowValue, 2: Timestamp highValue, 3: required i64 numNulls, 4: required i64 numDVs, 5: binary bitVectors,
  6: binary histogram
}
union ColumnStatisticsData {
  1: BooleanColumnStatsData booleanStats, 2: LongColumnStatsData longStats, 3: DoubleColumnStatsData doubleStats,
  4: StringColumnStatsData stringStats, 5: BinaryColumnStatsData binaryStats, 6: DecimalColumnStatsData decimalStats,
  7: DateColumnStatsData dateStats, 8: TimestampColumnStatsData timestampStats
}
struct ColumnStatisticsObj { 1: required string colName, 2: required string colType, 3: required ColumnStatisticsData statsData }
struct ColumnStatisticsDesc {
  1: required bool isTblLevel, 2: required string dbName, 3: required string tableName, 4: string partName,
  5: i64 lastAnalyzed, 6: string catName
}
struct ColumnStatistics {
  1: required ColumnStatisticsDesc statsDesc, 2: required list<ColumnStatisticsObj> statsObj, 3: bool isStatsCompliant,
  4: string engine
}
struct AggrStats { 1: required list<ColumnStatisticsObj> colStats, 2: required i64 partsFound, 3: bool isStatsCompliant }
struct SetPartitionsStatsRequest {
  1: required list<ColumnStatistics> colStats, 2: bool needMerge, 3: i64 writeId, 4: string validWriteIdList, 5: string engine
}
struct SetPartitionsStatsResponse { 1: required bool result }
struct TableStatsRequest {
  1: required string dbName, 2: required string tblName, 3: required list<string> colNames, 4: string catName,
  5: string validWriteIdList, 6: string engine
}
struct TableStatsResult { 1: required list<ColumnStatisticsObj> tableStats, 2: bool isStatsCompliant }
struct PartitionsStatsRequest {
  1: required string dbName, 2: required string tblName, 3: required list<string> colNames,
  4: required list<string> partNames, 5: string catName, 6: string validWriteIdList, 7: string engine
}
struct PartitionsStatsResult { 1: required map<string, list<ColumnStatisticsObj>> partStats, 2: bool isStatsCompliant }
struct DeleteColumnStatisticsRequest {
  1: string cat_name, 2: required string db_name, 3: required string tbl_name, 4: list<string> part_names,
  5: list<string> col_names, 6: string engine, 7: bool tableLevel
}

struct GetDatabaseRequest { 1: string name, 2: string catalogName }
struct DropDatabaseRequest { 1: required string name, 3: required bool ignoreUnknownDb, 4: required bool deleteData, 5: required bool cascade }
struct GetTableRequest { 1: required string dbName, 2: required string tblName, 4: string catName }
struct GetTableResult { 1: required Table table, 2: bool isStatsCompliant }
struct GetTablesRequest { 1: required string dbName, 2: list<string> tblNames, 4: string catName, 8: string tablesPattern }
struct GetTablesResult { 1: required list<Table> tables }
struct CreateTableRequest { 1: required Table table, 2: EnvironmentContext envContext }
struct AlterTableRequest {
  1: string catName, 2: required string dbName, 3: required string tableName, 4: required Table table,
  5: EnvironmentContext environmentContext, 10: string expectedParameterKey, 11: string expectedParameterValue
}
struct AlterTableResponse { }
struct DropTableRequest {
  1: string catalogName, 2: required string dbName, 3: required string tableName, 4: bool deleteData,
  5: EnvironmentContext envContext
}
struct GetPartitionsByNamesRequest { 1: required string db_name, 2: required string tbl_name, 3: list<string> names }
struct GetPartitionsByNamesResult { 1: required list<Partition> partitions }
struct GetCatalogsResponse { 1: list<string> names }
struct CurrentNotificationEventId { 1: required i64 eventId }
struct PrimaryKeysRequest { 1: string db_name, 2: string tbl_name }
struct NoConstraints { 1: required list<FieldSchema> keys }
struct NoFunctions { 1: list<FieldSchema> functions }

// What Hive 4 asks in requests. Constraints and functions are none here, so that their elements have no type of their own.
struct Catalog { 1: string name, 2: string description, 3: string locationUri }
struct GetCatalogRequest { 1: string name }
struct GetCatalogResponse { 1: Catalog catalog }
struct GetDatabaseObjectsRequest { 1: string catalogName, 2: string pattern }
struct GetDatabaseObjectsResponse { 1: required list<Database> databases }
struct CreateDatabaseRequest {
  1: required string databaseName, 2: string description, 3: string locationUri, 4: map<string, string> parameters,
  6: string ownerName, 8: string catalogName
}
struct AlterDatabaseRequest { 1: required string oldDbName, 2: required Database newDb }
struct GetFieldsRequest { 1: string catName, 2: required string dbName, 3: required string tblName }
struct GetFieldsResponse { 1: required list<FieldSchema> fields }
struct AllConstraints {
  1: list<FieldSchema> primaryKeys, 2: list<FieldSchema> foreignKeys, 3: list<FieldSchema> uniqueConstraints,
  4: list<FieldSchema> notNullConstraints, 5: list<FieldSchema> defaultConstraints, 6: list<FieldSchema> checkConstraints
}
struct AllConstraintsRequest { 1: required string dbName, 2: required string tblName }
struct AllConstraintsResponse { 1: required AllConstraints allTableConstraints }
struct ConstraintsRequest { 2: required string db_name, 3: required string tbl_name }
struct GetFunctionsRequest { 1: required string dbName, 3: string pattern, 4: bool returnNames }
struct GetFunctionsResponse { 1: list<string> function_names, 2: list<FieldSchema> functions }
struct GetPartitionRequest { 1: string catName, 2: required string dbName, 3: required string tblName, 4: required list<string> partVals }
struct GetPartitionResponse { 1: required Partition partition }
struct PartitionsRequest { 1: string catName, 2: required string dbName, 3: required string tblName, 4: i16 maxParts }
struct PartitionsResponse { 1: required list<Partition> partitions }
struct GetPartitionNamesPsRequest {
  1: string catName, 2: required string dbName, 3: required string tblName, 4: list<string> partValues, 5: i16 maxParts
}
struct GetPartitionNamesPsResponse { 1: required list<string> names }
struct GetPartitionsPsRequest {
  1: string catName, 2: required string dbName, 3: required string tblName, 4: list<string> partVals, 5: i16 maxParts,
  13: list<string> partNames
}
struct PartitionsByExprRequest { 1: required string dbName, 2: required string tblName, 3: required binary expr }
struct PartitionsByExprResult { 1: required list<Partition> partitions, 2: required bool hasUnknownPartitions }
struct AddPartitionsRequest {
  1: required string dbName, 2: required string tblName, 3: required list<Partition> parts, 4: required bool ifNotExists,
  5: bool needResult
}
struct AddPartitionsResult { 1: list<Partition> partitions }
struct AppendPartitionsRequest {
  2: required string dbName, 3: required string tableName, 4: string name, 5: list<string> partVals
}
struct AlterPartitionsRequest { 2: required string dbName, 3: required string tableName, 4: required list<Partition> partitions }
struct DropPartitionRequest { 2: required string dbName, 3: required string tblName, 4: string partName, 5: list<string> partVals }
struct PartitionsToDrop { 1: list<string> names }
struct DropPartitionsRequest {
  1: required string dbName, 2: required string tblName, 3: required PartitionsToDrop parts, 5: bool ifExists, 8: bool needResult
}

struct LockComponent {
  1: required i32 type, 2: required i32 level, 3: required string dbname, 4: string tablename, 5: string partitionname,
  6: i32 operationType
}
struct LockRequest {
  1: required list<LockComponent> component, 2: i64 txnid, 3: required string user, 4: required string hostname,
  5: string agentInfo
}
struct LockResponse { 1: required i64 lockid, 2: required i32 state, 3: string errorMessage }
struct CheckLockRequest { 1: required i64 lockid, 2: i64 txnid, 3: i64 elapsed_ms }
struct UnlockRequest { 1: required i64 lockid }
struct HeartbeatRequest { 1: i64 lockid, 2: i64 txnid }
struct ShowLocksRequest { 1: string dbname, 2: string tablename, 3: string partname, 4: bool isExtended }
struct ShowLocksResponseElement {
  1: required i64 lockid, 2: required string dbname, 3: string tablename, 4: string partname, 5: required i32 state,
  6: required i32 type, 7: i64 txnid, 8: required i64 lastheartbeat, 9: i64 acquiredat, 10: required string user,
  11: required string hostname, 12: i32 heartbeatCount, 13: string agentInfo
}
struct ShowLocksResponse { 1: list<ShowLocksResponseElement> locks }

exception MetaException { 1: string message }
exception NoSuchObjectException { 1: string message }
exception InvalidObjectException { 1: string message }
exception InvalidInputException { 1: string message }
exception InvalidOperationException { 1: string message }
exception AlreadyExistsException { 1: string message }
exception UnknownDBException { 1: string message }
exception UnknownTableException { 1: string message }
exception ConfigValSecurityException { 1: string message }
exception NoSuchLockException { 1: string message }
exception NoSuchTxnException { 1: string message }
exception TxnAbortedException { 1: string message }
exception TxnOpenException { 1: string message }
exception TApplicationException { 1: string message, 2: i32 type }

service ThriftHiveMetastore {
  string getName()
  string getVersion()
  i32 getStatus()
  i64 aliveSince()
  void shutdown()
  void flushCache()
  list<string> set_ugi(1: string user_name, 2: list<string> group_names) throws (1: MetaException o1)
  string get_config_value(1: string name, 2: string defaultValue) throws (1: ConfigValSecurityException o1)
  string getMetaConf(1: string key) throws (1: MetaException o1)
  void setMetaConf(1: string key, 2: string value) throws (1: MetaException o1)
  GetCatalogsResponse get_catalogs() throws (1: MetaException o1)
  CurrentNotificationEventId get_current_notificationEventId()
  NoConstraints get_primary_keys(1: PrimaryKeysRequest request) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  NoConstraints get_foreign_keys(1: PrimaryKeysRequest request) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  NoFunctions get_all_functions() throws (1: MetaException o1)
  list<string> get_functions(1: string dbName, 2: string pattern) throws (1: MetaException o1)
  GetFunctionsResponse get_functions_req(1: GetFunctionsRequest request) throws (1: MetaException o1)
  GetCatalogResponse get_catalog(1: GetCatalogRequest catName) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  NoConstraints get_not_null_constraints(1: ConstraintsRequest request) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  NoConstraints get_unique_constraints(1: ConstraintsRequest request) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  NoConstraints get_default_constraints(1: ConstraintsRequest request) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  NoConstraints get_check_constraints(1: ConstraintsRequest request) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  AllConstraintsResponse get_all_table_constraints(1: AllConstraintsRequest request) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<string> get_materialized_views_for_rewriting(1: string db_name) throws (1: MetaException o1)
  list<Table> get_all_materialized_view_objects_for_rewriting() throws (1: MetaException o1)

  list<string> get_all_databases() throws (1: MetaException o1)
  list<string> get_databases(1: string pattern) throws (1: MetaException o1)
  Database get_database(1: string name) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  Database get_database_req(1: GetDatabaseRequest request) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  GetDatabaseObjectsResponse get_databases_req(1: GetDatabaseObjectsRequest request) throws (1: MetaException o1)
  void create_database_req(1: CreateDatabaseRequest createDatabaseRequest) throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3)
  void alter_database_req(1: AlterDatabaseRequest alterDbReq) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  void create_database(1: Database database) throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3)
  void alter_database(1: string dbname, 2: Database db) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  void drop_database(1: string name, 2: bool deleteData, 3: bool cascade) throws (1: NoSuchObjectException o1, 2: InvalidOperationException o2, 3: MetaException o3)
  void drop_database_req(1: DropDatabaseRequest req) throws (1: NoSuchObjectException o1, 2: InvalidOperationException o2, 3: MetaException o3)

  list<string> get_all_tables(1: string db_name) throws (1: MetaException o1)
  list<string> get_tables(1: string db_name, 2: string pattern) throws (1: MetaException o1)
  list<string> get_tables_by_type(1: string db_name, 2: string pattern, 3: string tableType) throws (1: MetaException o1)
  list<TableMeta> get_table_meta(1: string db_patterns, 2: string tbl_patterns, 3: list<string> tbl_types) throws (1: MetaException o1)
  Table get_table(1: string dbname, 2: string tbl_name) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  GetTableResult get_table_req(1: GetTableRequest req) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<Table> get_table_objects_by_name(1: string dbname, 2: list<string> tbl_names)
  GetTablesResult get_table_objects_by_name_req(1: GetTablesRequest req) throws (1: MetaException o1, 2: InvalidOperationException o2, 3: UnknownDBException o3)
  list<FieldSchema> get_fields(1: string db_name, 2: string table_name) throws (1: MetaException o1, 2: UnknownTableException o2, 3: UnknownDBException o3)
  list<FieldSchema> get_fields_with_environment_context(1: string db_name, 2: string table_name, 3: EnvironmentContext environment_context) throws (1: MetaException o1, 2: UnknownTableException o2, 3: UnknownDBException o3)
  list<FieldSchema> get_schema(1: string db_name, 2: string table_name) throws (1: MetaException o1, 2: UnknownTableException o2, 3: UnknownDBException o3)
  list<FieldSchema> get_schema_with_environment_context(1: string db_name, 2: string table_name, 3: EnvironmentContext environment_context) throws (1: MetaException o1, 2: UnknownTableException o2, 3: UnknownDBException o3)
  list<string> get_table_names_by_filter(1: string dbname, 2: string filter, 3: i16 max_tables) throws (1: MetaException o1, 2: InvalidOperationException o2, 3: UnknownDBException o3)
  GetFieldsResponse get_schema_req(1: GetFieldsRequest req) throws (1: MetaException o1, 2: UnknownTableException o2, 3: UnknownDBException o3)
  GetFieldsResponse get_fields_req(1: GetFieldsRequest req) throws (1: MetaException o1, 2: UnknownTableException o2, 3: UnknownDBException o3)
  void create_table(1: Table tbl) throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: NoSuchObjectException o4)
  void create_table_with_environment_context(1: Table tbl, 2: EnvironmentContext environment_context) throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: NoSuchObjectException o4)
  void create_table_req(1: CreateTableRequest request) throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: NoSuchObjectException o4)
  void alter_table(1: string dbname, 2: string tbl_name, 3: Table new_tbl) throws (1: InvalidOperationException o1, 2: MetaException o2)
  void alter_table_with_environment_context(1: string dbname, 2: string tbl_name, 3: Table new_tbl, 4: EnvironmentContext environment_context) throws (1: InvalidOperationException o1, 2: MetaException o2)
  void alter_table_with_cascade(1: string dbname, 2: string tbl_name, 3: Table new_tbl, 4: bool cascade) throws (1: InvalidOperationException o1, 2: MetaException o2)
  AlterTableResponse alter_table_req(1: AlterTableRequest req) throws (1: InvalidOperationException o1, 2: MetaException o2)
  void drop_table(1: string dbname, 2: string name, 3: bool deleteData) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void drop_table_with_environment_context(1: string dbname, 2: string name, 3: bool deleteData, 4: EnvironmentContext environment_context) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void drop_table_req(1: DropTableRequest dropTableReq) throws (1: NoSuchObjectException o1, 2: MetaException o2)

  list<string> get_partition_names(1: string db_name, 2: string tbl_name, 3: i16 max_parts) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  list<Partition> get_partitions(1: string db_name, 2: string tbl_name, 3: i16 max_parts) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  Partition get_partition(1: string db_name, 2: string tbl_name, 3: list<string> part_vals) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  Partition get_partition_with_auth(1: string db_name, 2: string tbl_name, 3: list<string> part_vals, 4: string user_name, 5: list<string> group_names) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  Partition get_partition_by_name(1: string db_name, 2: string tbl_name, 3: string part_name) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<Partition> get_partitions_by_names(1: string db_name, 2: string tbl_name, 3: list<string> names) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  GetPartitionsByNamesResult get_partitions_by_names_req(1: GetPartitionsByNamesRequest req) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  GetPartitionResponse get_partition_req(1: GetPartitionRequest req) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  PartitionsResponse get_partitions_req(1: PartitionsRequest req) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  list<Partition> get_partitions_with_auth(1: string db_name, 2: string tbl_name, 3: i16 max_parts, 4: string user_name, 5: list<string> group_names) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  list<string> fetch_partition_names_req(1: PartitionsRequest partitionReq) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  list<string> get_partition_names_ps(1: string db_name, 2: string tbl_name, 3: list<string> part_vals, 4: i16 max_parts) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  GetPartitionNamesPsResponse get_partition_names_ps_req(1: GetPartitionNamesPsRequest req) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<Partition> get_partitions_ps(1: string db_name, 2: string tbl_name, 3: list<string> part_vals, 4: i16 max_parts) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<Partition> get_partitions_ps_with_auth(1: string db_name, 2: string tbl_name, 3: list<string> part_vals, 4: i16 max_parts, 5: string user_name, 6: list<string> group_names) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  PartitionsResponse get_partitions_ps_with_auth_req(1: GetPartitionsPsRequest req) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  PartitionsByExprResult get_partitions_by_expr(1: PartitionsByExprRequest req) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<string> partition_name_to_vals(1: string part_name) throws (1: MetaException o1)
  map<string, string> partition_name_to_spec(1: string part_name) throws (1: MetaException o1)
  Partition add_partition(1: Partition new_part) throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  i32 add_partitions(1: list<Partition> new_parts) throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  void alter_partition(1: string db_name, 2: string tbl_name, 3: Partition new_part) throws (1: InvalidOperationException o1, 2: MetaException o2)
  void alter_partitions(1: string db_name, 2: string tbl_name, 3: list<Partition> new_parts) throws (1: InvalidOperationException o1, 2: MetaException o2)
  bool drop_partition(1: string db_name, 2: string tbl_name, 3: list<string> part_vals, 4: bool deleteData) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  bool drop_partition_by_name(1: string db_name, 2: string tbl_name, 3: string part_name, 4: bool deleteData) throws (1: NoSuchObjectException o1, 2: MetaException o2)

  AddPartitionsResult add_partitions_req(1: AddPartitionsRequest request) throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  Partition append_partition(1: string db_name, 2: string tbl_name, 3: list<string> part_vals) throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  Partition append_partition_req(1: AppendPartitionsRequest appendPartitionsReq) throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  void alter_partition_with_environment_context(1: string db_name, 2: string tbl_name, 3: Partition new_part, 4: EnvironmentContext environment_context) throws (1: InvalidOperationException o1, 2: MetaException o2)
  void alter_partitions_with_environment_context(1: string db_name, 2: string tbl_name, 3: list<Partition> new_parts, 4: EnvironmentContext environment_context) throws (1: InvalidOperationException o1, 2: MetaException o2)
  AlterTableResponse alter_partitions_req(1: AlterPartitionsRequest req) throws (1: InvalidOperationException o1, 2: MetaException o2)
  bool drop_partition_with_environment_context(1: string db_name, 2: string tbl_name, 3: list<string> part_vals, 4: bool deleteData, 5: EnvironmentContext environment_context) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  bool drop_partition_by_name_with_environment_context(1: string db_name, 2: string tbl_name, 3: string part_name, 4: bool deleteData, 5: EnvironmentContext environment_context) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  bool drop_partition_req(1: DropPartitionRequest dropPartitionReq) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  AddPartitionsResult drop_partitions_req(1: DropPartitionsRequest req) throws (1: NoSuchObjectException o1, 2: MetaException o2)

  bool update_table_column_statistics(1: ColumnStatistics stats_obj) throws (1: NoSuchObjectException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: InvalidInputException o4)
  bool update_partition_column_statistics(1: ColumnStatistics stats_obj) throws (1: NoSuchObjectException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: InvalidInputException o4)
  SetPartitionsStatsResponse update_table_column_statistics_req(1: SetPartitionsStatsRequest req) throws (1: NoSuchObjectException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: InvalidInputException o4)
  SetPartitionsStatsResponse update_partition_column_statistics_req(1: SetPartitionsStatsRequest req) throws (1: NoSuchObjectException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: InvalidInputException o4)
  ColumnStatistics get_table_column_statistics(1: string db_name, 2: string tbl_name, 3: string col_name) throws (1: NoSuchObjectException o1, 2: MetaException o2, 3: InvalidInputException o3, 4: InvalidObjectException o4)
  ColumnStatistics get_partition_column_statistics(1: string db_name, 2: string tbl_name, 3: string part_name, 4: string col_name) throws (1: NoSuchObjectException o1, 2: MetaException o2, 3: InvalidInputException o3, 4: InvalidObjectException o4)
  TableStatsResult get_table_statistics_req(1: TableStatsRequest request) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  PartitionsStatsResult get_partitions_statistics_req(1: PartitionsStatsRequest request) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  AggrStats get_aggr_stats_for(1: PartitionsStatsRequest request) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  bool set_aggr_stats_for(1: SetPartitionsStatsRequest request) throws (1: NoSuchObjectException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: InvalidInputException o4)
  bool delete_partition_column_statistics(1: string db_name, 2: string tbl_name, 3: string part_name, 4: string col_name, 5: string engine) throws (1: NoSuchObjectException o1, 2: MetaException o2, 3: InvalidObjectException o3, 4: InvalidInputException o4)
  bool delete_table_column_statistics(1: string db_name, 2: string tbl_name, 3: string col_name, 4: string engine) throws (1: NoSuchObjectException o1, 2: MetaException o2, 3: InvalidObjectException o3, 4: InvalidInputException o4)
  bool delete_column_statistics_req(1: DeleteColumnStatisticsRequest req) throws (1: NoSuchObjectException o1, 2: MetaException o2, 3: InvalidObjectException o3, 4: InvalidInputException o4)

  LockResponse lock(1: LockRequest rqst) throws (1: NoSuchTxnException o1, 2: TxnAbortedException o2)
  LockResponse check_lock(1: CheckLockRequest rqst) throws (1: NoSuchTxnException o1, 2: TxnAbortedException o2, 3: NoSuchLockException o3)
  void unlock(1: UnlockRequest rqst) throws (1: NoSuchLockException o1, 2: TxnOpenException o2)
  void heartbeat(1: HeartbeatRequest ids) throws (1: NoSuchLockException o1, 2: NoSuchTxnException o2, 3: TxnAbortedException o3)
  ShowLocksResponse show_locks(1: ShowLocksRequest rqst)
}
