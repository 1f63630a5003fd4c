#include "python/feed.h"

#include <memory>
#include <string>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "loader/describe/stream_args.h"
#include "pipeline/op_spec.h"
#include "python/description.h"
#include "python/text.h"
#include "stream/pushed_log.h"

namespace forebay::python {

namespace {

// Longest wait without the lock. Afterwards the thread checks for signals and for the end of its
// loader.
constexpr std::chrono::milliseconds kPushPatience{100};

// The result may be called and destroyed on any thread; it takes the interpreter lock.
PushedLog::Open open_by(const nb::object& open) {
  const std::shared_ptr<nb::object> kept(new nb::object(open), [](nb::object* object) {
    const nb::gil_scoped_acquire locked;
    delete object;
  });
  return [kept](size_t partition, const std::string& after, std::shared_ptr<PushedRecords> feed) {
    const nb::gil_scoped_acquire locked;
    try {
      (*kept)(partition, after, feed);
    } catch (const std::exception& error) {
      feed->fail(Status(Code::kUnavailable, error.what()));
    }
  };
}

PyDescription iterable(const nb::object& open, nb::dict args, nb::str label) {
  // An attachment has no JSON form, so the step stays in this process.
  auto attachment = std::make_shared<IterableAttachment>(IterableAttachment{open_by(open)});
  return {Description(OpSpec{"iterable", to_json(args), std::move(attachment), from_text(label)})};
}

PushedRecords::Pushed push(PushedRecords& feed, std::string offset, std::string key, uint64_t bytes) {
  const nb::gil_scoped_release unlocked;
  return feed.push(std::move(offset), std::move(key), bytes, kPushPatience);
}

}  // namespace

void bind_feed(nb::module_& module) {
  nb::enum_<PushedRecords::Pushed>(module, "Pushed")
      .value("TAKEN", PushedRecords::Pushed::kTaken)
      .value("FULL", PushedRecords::Pushed::kFull)
      .value("CLOSED", PushedRecords::Pushed::kClosed);
  nb::class_<PushedRecords>(module, "PushedRecords",
                            "Where a Python thread pushes the records of one partition of an iterable.")
      .def("push", &push, nb::arg("offset"), nb::arg("key"), nb::arg("bytes"),
           "The next record; FULL where there was no room for a while: try again.")
      .def("end", &PushedRecords::end, "There are no more.")
      .def_prop_ro("closed", &PushedRecords::closed, "Nobody wants more.")
      .def(
          "fail", [](PushedRecords& feed, const std::string& message) { feed.fail(Status(Code::kUser, message)); },
          nb::arg("message"), "There can be no more.")
      .def(
          "take_gone",
          [](PushedRecords& feed) {
            nb::list keys;
            for (const std::string& key : feed.take_gone()) keys.append(to_text(key));
            return keys;
          },
          nb::sig("def take_gone(self) -> list[str]"), "Keys of records that nobody will ask for again.");
  module.def(
      "iterable", &iterable, nb::arg("open"), nb::arg("args"), nb::arg("label"),
      "A description of nothing but records that `open(partition, after, feed)` has pushed, from a thread of its own.");
}

}  // namespace forebay::python
