#include "ops/column/normalize_columns.h"

#include <utility>

#include "ops/column/column.h"
#include "ops/definition/element_types.h"

namespace forebay {
namespace {

template <typename T>
void normalize(const Elements& in, double mean, double deviation, uint8_t* out) {
  map_elements<T, float>(in.data, out, in.count,
                         [=](T x) { return static_cast<float>((static_cast<double>(widen(x)) - mean) / deviation); });
}

class NormalizeColumns final : public ElementwiseOp {
 public:
  NormalizeColumns(std::vector<std::string> fields, std::vector<double> mean, std::vector<double> std)
      : ElementwiseOp(std::move(fields), ColumnNeed::kNumbersAndBool), mean_(std::move(mean)), std_(std::move(std)) {}

 private:
  std::optional<DType> output_dtype(const Field&) const override { return DType::kFloat32; }
  void make(size_t number, const Columns& columns, size_t field, uint8_t* out) const override {
    const double mean = mean_[mean_.size() == 1 ? 0 : number], deviation = std_[std_.size() == 1 ? 0 : number];
    with_element(columns.schema[field].dtype,
                 [&](auto type) { normalize<decltype(type)>(elements(columns, field), mean, deviation, out); });
  }

  std::vector<double> mean_, std_;
};

}  // namespace

std::unique_ptr<ColumnOp> normalize_columns(std::vector<std::string> fields, std::vector<double> mean,
                                            std::vector<double> std) {
  return std::make_unique<NormalizeColumns>(std::move(fields), std::move(mean), std::move(std));
}

}  // namespace forebay
