#include "materialize/chosen_samples.h"

#include <utility>

#include "base/part_search.h"
#include "base/unit_source.h"

namespace forebay {

namespace {

class ChosenSamples final : public Source {
 public:
  ChosenSamples(std::shared_ptr<const Source> all, std::vector<int64_t> chosen)
      : all_(std::move(all)), chosen_(std::move(chosen)) {}

  const Schema& schema() const override { return all_->schema(); }
  int64_t size() const override { return static_cast<int64_t>(chosen_.size()); }
  Hash128 version() const override { return all_->version(); }
  uint64_t index_bytes() const override { return all_->index_bytes() + chosen_.size() * sizeof(int64_t); }
  std::string key(int64_t id) const override { return all_->key(of(id)); }
  std::optional<Identity> identity(int64_t id) const override { return all_->identity(of(id)); }
  const std::string& steps_before() const override { return all_->steps_before(); }
  Fetch fetch(int64_t id) const override { return all_->fetch(of(id)); }
  Status load(int64_t id, Buffer fetched, Record& record) const override {
    return all_->load(of(id), std::move(fetched), record);
  }
  Status check_intact() const override { return all_->check_intact(); }

 private:
  int64_t of(int64_t id) const { return chosen_[static_cast<size_t>(id)]; }

  const std::shared_ptr<const Source> all_;
  const std::vector<int64_t> chosen_;
};

class ChosenUnits final : public UnitSource {
 public:
  ChosenUnits(std::shared_ptr<const UnitSource> all, std::vector<int64_t> chosen)
      : all_(std::move(all)), chosen_(std::move(chosen)) {
    for (const int64_t unit : chosen_)
      begins_.push_back(begins_.back() + all_->unit_begin(unit + 1) - all_->unit_begin(unit));
  }

  const Schema& schema() const override { return all_->schema(); }
  int64_t size() const override { return begins_.back(); }
  Hash128 version() const override { return all_->version(); }
  uint64_t index_bytes() const override { return all_->index_bytes() + chosen_.size() * 2 * sizeof(int64_t); }
  std::string key(int64_t id) const override {
    const size_t unit = part_holding(std::span(begins_).first(chosen_.size()), id, [](int64_t begin) { return begin; });
    return all_->key(all_->unit_begin(chosen_[unit]) + id - begins_[unit]);
  }
  const std::string& steps_before() const override { return all_->steps_before(); }
  int64_t units() const override { return static_cast<int64_t>(chosen_.size()); }
  int64_t unit_begin(int64_t unit) const override { return begins_[static_cast<size_t>(unit)]; }
  std::string unit_name(int64_t unit) const override { return all_->unit_name(of(unit)); }
  UnitCost unit_cost(int64_t unit) const override { return all_->unit_cost(of(unit)); }
  UnitFetch unit_fetch(int64_t unit) const override { return all_->unit_fetch(of(unit)); }
  Result<Columns> decode(int64_t unit, std::vector<Buffer> fetched, WorkMemory& memory) const override {
    return all_->decode(of(unit), std::move(fetched), memory);
  }
  std::optional<Hash128> unit_identity(int64_t unit) const override { return all_->unit_identity(of(unit)); }
  std::string time_name(size_t field) const override { return all_->time_name(field); }
  bool is_of_folder(size_t field) const override { return all_->is_of_folder(field); }
  Result<std::shared_ptr<const UnitSource>> with_fields(std::span<const std::string> names) const override {
    FOREBAY_ASSIGN(std::shared_ptr<const UnitSource> fewer, all_->with_fields(names));
    return std::shared_ptr<const UnitSource>(std::make_shared<ChosenUnits>(std::move(fewer), chosen_));
  }

 private:
  int64_t of(int64_t unit) const { return chosen_[static_cast<size_t>(unit)]; }

  const std::shared_ptr<const UnitSource> all_;
  const std::vector<int64_t> chosen_;
  std::vector<int64_t> begins_{0};
};

}  // namespace

std::shared_ptr<const Source> chosen_of(std::shared_ptr<const Source> source, std::vector<int64_t> chosen) {
  if (auto units = std::dynamic_pointer_cast<const UnitSource>(source))
    return std::make_shared<ChosenUnits>(std::move(units), std::move(chosen));
  return std::make_shared<ChosenSamples>(std::move(source), std::move(chosen));
}

}  // namespace forebay
