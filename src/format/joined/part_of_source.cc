#include "format/joined/part_of_source.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "format/joined/joined_chunks.h"
#include "format/joined/joined_samples.h"

namespace forebay {

namespace {

const std::vector<JoinedPart>* parts_of(const Source& source) {
  if (const JoinedSamples* const samples = as_joined(source)) return &samples->parts();
  const auto* const chunks = dynamic_cast<const JoinedChunks*>(&source);
  return chunks == nullptr ? nullptr : &chunks->parts();
}

class PartOfSamples final : public SampleSource {
 public:
  PartOfSamples(std::shared_ptr<const Source> joined, const JoinedPart& part)
      : joined_(std::move(joined)), part_(part) {}

  const Schema& schema() const override { return part_.source->schema(); }
  int64_t size() const override { return joined_->size(); }
  Hash128 version() const override { return part_.source->version(); }
  uint64_t index_bytes() const override { return 0; }  // joined_ counts it
  std::string key(int64_t id) const override { return part_.source->key(part_.row(id)); }
  std::optional<Identity> identity(int64_t id) const override { return part_.source->identity(part_.row(id)); }
  Fetch fetch(int64_t id) const override { return part_.source->as_samples()->fetch(part_.row(id)); }
  Status load(int64_t id, Buffer fetched, Record& record) const override {
    return part_.source->as_samples()->load(part_.row(id), std::move(fetched), record);
  }

 private:
  const std::shared_ptr<const Source> joined_;  // has `part_`
  const JoinedPart& part_;
};

}  // namespace

const JoinedPart* find_joined_part(const Source& source, const std::string& name) {
  const std::vector<JoinedPart>* const parts = name.empty() ? nullptr : parts_of(source);
  if (parts == nullptr) return nullptr;
  const auto found = std::ranges::find(*parts, name, &JoinedPart::name);
  return found == parts->end() ? nullptr : &*found;
}

int64_t row_in_part(const Source& source, const std::string& name, int64_t id) {
  const JoinedPart* const part = find_joined_part(source, name);
  return part == nullptr ? id : part->row(id);
}

std::shared_ptr<const Source> part_of_source(std::shared_ptr<const Source> source, const std::string& name) {
  const JoinedPart* const part = as_joined(*source) == nullptr ? nullptr : find_joined_part(*source, name);
  if (part == nullptr) return source;
  return std::make_shared<PartOfSamples>(std::move(source), *part);
}

}  // namespace forebay
