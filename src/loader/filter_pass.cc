#include "loader/filter_pass.h"

#include <algorithm>

#include "loader/ordering.h"

namespace forebay {

namespace {
constexpr int64_t kBatch = 256;
}

Result<std::shared_ptr<const KeptSamples>> run_filter(const CompileInput& input, const SizingInput& given,
                                                      const std::function<Status(std::shared_ptr<Runner>)>& running,
                                                      const std::function<Status(const RowError&)>& told) {
  const int64_t n = input.selection->size();
  std::vector<uint64_t> bits(static_cast<size_t>((n + 63) / 64));
  if (n == 0) return std::make_shared<const KeptSamples>(input.selection, std::move(bits));
  FOREBAY_ASSIGN(auto plan, compile(input));
  SizingInput sizes = given;
  sizes.batch_size = std::min(n, kBatch);
  FOREBAY_ASSIGN(Ordering ordering, choose_order(nullptr, *plan->source, *input.selection, input.seed));
  sizes.block = sizes.lanes = 1;
  FOREBAY_ASSIGN(RunnerOptions options, choose_sizes(*plan, sizes));
  options.bad_sample = BadSample::kSkip;
  const Schedule schedule(
      {.epoch_size = n, .batch_size = sizes.batch_size, .world_size = 1, .last = LastPolicy::kPartial});
  auto itinerary = std::make_shared<const Itinerary>(std::move(ordering.order), schedule, input.seed, 0, 1);
  auto runner = std::make_shared<Runner>(Engine::shared(), plan, itinerary, options);
  Status status = running(runner);
  for (bool over = false; status.ok() && !over;) {
    Result<Runner::Delivery> delivery = runner->next_for(std::chrono::seconds(1));
    if (!delivery.ok()) {
      status = delivery.status();
      break;
    }
    for (size_t i = 0; i < delivery->errors.size() && status.ok(); ++i) status = told(delivery->errors[i]);
    over = !delivery->batch && !delivery->timed_out;
    if (delivery->batch) {
      const Batch& batch = *delivery->batch;
      for (int64_t row = 0; row < batch.size(); ++row) {
        const auto position = static_cast<uint64_t>(batch.positions[static_cast<size_t>(row)]);
        if (*batch.fields.front().row(row).data() != 0) bits[position / 64] |= uint64_t{1} << (position % 64);
      }
    }
  }
  runner->close();
  const Status over = running(nullptr);
  if (!status.ok()) return status;
  if (!over.ok()) return over;
  return std::make_shared<const KeptSamples>(input.selection, std::move(bits));
}

}  // namespace forebay
