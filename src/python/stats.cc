#include "python/stats.h"

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "forebay/ledger.h"
#include "python/text.h"

namespace forebay::python {

namespace {

nb::object to_key(std::string_view name) { return nb::str(name.data(), name.size()); }

template <typename T>
nb::list list_of(const std::vector<T>& values) {
  nb::list list;
  for (const T value : values) list.append(value);
  return list;
}

/// Converts a ledger to nested dictionaries. visit() calls the overrides, then the caller takes the
/// result. The interpreter must be held.
class DictView final : public LedgerVisitor {
 public:
  void number(const Figure& figure, FigureNumber value) override {
    std::visit([&](auto number) { set(figure.name, nb::cast(number)); }, value);
  }
  void text(const Figure& figure, const std::string& value) override { set(figure.name, to_text(value)); }
  void tally(const Figure& figure, const std::map<uint32_t, int64_t>& value) override {
    nb::dict dict;
    // Keys are numbers here, while JSON uses strings.
    for (const auto& [number, count] : value) dict[nb::int_(number)] = count;
    set(figure.name, dict);
  }
  void histogram(const Figure& figure, const Histogram& value) override {
    nb::dict dict;
    dict["bounds"] = list_of(value.bounds);
    dict["counts"] = list_of(value.counts);
    dict["count"] = value.count();
    dict["sum"] = value.sum;
    set(figure.name, dict);
  }
  void begin(const FigureGroup& group) override {
    const bool is_list = !group.one.empty();
    open_.push_back(is_list ? nb::object(nb::list()) : nb::object(nb::dict()));
  }
  void end(const FigureGroup& group) override {
    const nb::object done = take_innermost();
    set(group.name, done);
  }
  void begin_item() override { open_.push_back(nb::dict()); }
  void end_item() override {
    const nb::object done = take_innermost();
    // An item lies directly in its list.
    nb::borrow<nb::list>(open_.back()).append(done);
  }

  /// Returns the dictionary of the whole ledger. Called once, after visit().
  nb::object take() { return take_innermost(); }

 private:
  nb::object take_innermost() {
    nb::object done = std::move(open_.back());
    open_.pop_back();
    return done;
  }
  void set(std::string_view name, const nb::object& value) { nb::borrow<nb::dict>(open_.back())[to_key(name)] = value; }

  /// Dictionaries and lists that are not complete yet, from the whole ledger to the innermost one.
  /// Figures are added to the last.
  std::vector<nb::object> open_{nb::dict()};
};

}  // namespace

nb::dict to_dict(const Ledger& ledger) {
  DictView view;
  visit(ledger, view);
  return nb::cast<nb::dict>(view.take());
}

nb::dict to_dict(const ErrorEntry& entry) {
  nb::dict dict;
  dict["sample"] = entry.sample;
  dict["key"] = to_text(entry.key);
  dict["operator"] = to_text(entry.op);
  dict["code"] = to_text(entry.code);
  dict["message"] = to_text(entry.message);
  dict["count"] = entry.count;
  return dict;
}

nb::dict to_dict(const DataWarning& warning) {
  nb::dict dict;
  dict["kind"] = to_text(warning.kind);
  dict["count"] = warning.count;
  dict["first"] = to_text(warning.first);
  dict["message"] = to_text(warning.message);
  return dict;
}

}  // namespace forebay::python
