#include "format/materialized/materialized_units.h"

namespace forebay {

MaterializedUnits::MaterializedUnits(std::shared_ptr<const UnitSource> table,
                                     std::shared_ptr<const MaterializedManifest> manifest,
                                     std::shared_ptr<const UnitHashes> hashes)
    : table_(std::move(table)), manifest_(std::move(manifest)), hashes_(std::move(hashes)),
      steps_before_(manifest_->steps_before()) {
  // The files know types; what operators know of a field beyond them is the manifest's.
  for (const Field& field : table_->schema()) {
    schema_.push_back(field);
    for (const StoredField& stored : manifest_->fields)
      if (stored.field.name == field.name) schema_[schema_.size() - 1] = stored.field;
    schema_[schema_.size() - 1].fetched = field.fetched;
  }
}

Result<Columns> MaterializedUnits::decode(int64_t unit, std::vector<Buffer> fetched, WorkMemory& memory) const {
  FOREBAY_ASSIGN(Columns columns, table_->decode(unit, std::move(fetched), memory));
  columns.schema = schema_;
  if (Status intact = hashes_->check(unit, columns); !intact.ok()) return Status(intact).with_key(unit_name(unit));
  return columns;
}

Result<std::shared_ptr<const UnitSource>> MaterializedUnits::with_fields(std::span<const std::string> names) const {
  FOREBAY_ASSIGN(std::shared_ptr<const UnitSource> table, table_->with_fields(names));
  return std::shared_ptr<const UnitSource>(std::make_shared<MaterializedUnits>(std::move(table), manifest_, hashes_));
}

}  // namespace forebay
