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

void EpochDigest::add(const Batch& batch) {
  std::vector<const BatchField*> fields;
  for (const BatchField& field : batch.fields) fields.push_back(&field);
  std::sort(fields.begin(), fields.end(), [](const BatchField* a, const BatchField* b) { return a->name < b->name; });
  const int64_t rows = batch.size() - batch.padding;
  for (int64_t row = 0; row < rows; ++row) {
    impl_->hasher.update_value(batch.ids[static_cast<size_t>(row)]);
    for (const BatchField* field : fields) {
      const std::span<const uint8_t> bytes = field->row(row);
      impl_->hasher.update(bytes.data(), bytes.size());
    }
  }
  impl_->samples += rows;
}

std::string EpochDigest::to_string() const { return impl_->hasher.digest().to_string(); }
int64_t EpochDigest::samples() const { return impl_->samples; }

}  // namespace forebay
