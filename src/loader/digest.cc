#include <algorithm>
#include <numeric>

#include "base/hash.h"
#include "forebay/batch.h"
#include "forebay/loader.h"

namespace forebay {

struct EpochDigest::Impl {
  Hasher hasher;
  int64_t samples = 0;
};

EpochDigest::EpochDigest() : impl_(std::make_unique<Impl>()) {}
EpochDigest::~EpochDigest() = default;

namespace {

// Returns the fields of a batch, sorted by name.
std::vector<const BatchField*> sorted_fields(const Batch& batch) {
  std::vector<const BatchField*> fields;
  for (const BatchField& field : batch.fields) fields.push_back(&field);
  std::sort(fields.begin(), fields.end(), [](const BatchField* a, const BatchField* b) { return a->name < b->name; });
  return fields;
}

// The boundaries between strings are part of the content.
void add_lengths(Hasher& hasher, const BatchField& field, int64_t row) {
  const auto* strings = field.offsets.data<int64_t>();
  for (int64_t i = strings[row]; i < strings[row + 1]; ++i)
    hasher.update_value(static_cast<uint32_t>(field.string(i).size()));
}

struct PlacedRow {
  int64_t position = 0;
  size_t batch = 0;
  int64_t row = 0;
};

}  // namespace

void EpochDigest::add(std::span<const Batch* const> step) {
  std::vector<std::vector<const BatchField*>> fields;
  std::vector<PlacedRow> rows;
  for (const Batch* batch : step) {
    // Padding is not content: the number of repeated rows depends on the number of ranks.
    for (int64_t row = 0; row < batch->size() - batch->padding; ++row)
      rows.push_back({batch->positions[static_cast<size_t>(row)], fields.size(), row});
    fields.push_back(sorted_fields(*batch));
  }
  // Rows of ranks that share lanes interleave.
  std::sort(rows.begin(), rows.end(), [](const PlacedRow& a, const PlacedRow& b) { return a.position < b.position; });
  for (const PlacedRow& row : rows) {
    // The position is left out, since the order in which rows are added stands for it.
    impl_->hasher.update_value(step[row.batch]->ids[static_cast<size_t>(row.row)]);
    for (const BatchField* field : fields[row.batch]) {
      const std::span<const uint8_t> bytes = field->row(row.row);
      impl_->hasher.update(bytes.data(), bytes.size());
      if (field->string_list()) add_lengths(impl_->hasher, *field, row.row);
    }
  }
  impl_->samples += static_cast<int64_t>(rows.size());
}

void EpochDigest::add(const Batch& batch) {
  const Batch* const one[] = {&batch};
  add(one);
}

std::string EpochDigest::to_string() const { return impl_->hasher.digest().to_string(); }
int64_t EpochDigest::samples() const { return impl_->samples; }

}  // namespace forebay
