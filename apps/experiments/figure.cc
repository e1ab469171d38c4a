#include "apps/experiments/figure.h"

#include <cairo-svg.h>
#include <cairo.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <memory>

#include "submarine/base/error.h"
#include "submarine/io/file/atomic_file.h"

namespace submarine::apps {
namespace {

using internal::WriteFileAtomically;

constexpr double kPngScale = 2.0;

cairo_status_t AppendTo(void* text, const unsigned char* bytes, unsigned int count) {
  static_cast<std::string*>(text)->append(reinterpret_cast<const char*>(bytes), count);
  return CAIRO_STATUS_SUCCESS;
}

using Surface = std::unique_ptr<cairo_surface_t, decltype(&cairo_surface_destroy)>;

void CheckDrawn(cairo_status_t status) {
  if (status != CAIRO_STATUS_SUCCESS)
    throw TooLarge(fmt::format("the figure cannot be drawn: {}", cairo_status_to_string(status)));
}

void DrawOn(cairo_surface_t* surface, double scale, const std::function<void(Canvas*)>& draw) {
  const std::unique_ptr<cairo_t, decltype(&cairo_destroy)> cairo(cairo_create(surface),
                                                                 &cairo_destroy);
  cairo_scale(cairo.get(), scale, scale);
  cairo_set_source_rgb(cairo.get(), 1.0, 1.0, 1.0);
  cairo_paint(cairo.get());
  Canvas canvas(cairo.get());
  draw(&canvas);
  CheckDrawn(cairo_status(cairo.get()));
}

}  // namespace

Canvas::Canvas(cairo_t* cairo) : cairo_(cairo) {
  cairo_select_font_face(cairo, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
}

void Canvas::Colour(const std::array<double, 3>& rgb) {
  cairo_set_source_rgb(cairo_, rgb[0], rgb[1], rgb[2]);
}

void Canvas::Grey(double level) { Colour({level, level, level}); }

void Canvas::Line(double x0, double y0, double x1, double y1, double width) {
  cairo_set_line_width(cairo_, width);
  cairo_move_to(cairo_, x0, y0);
  cairo_line_to(cairo_, x1, y1);
  cairo_stroke(cairo_);
}

void Canvas::Dashed(bool dashed) {
  const std::array<double, 2> pattern = {6.0, 4.0};
  cairo_set_dash(cairo_, pattern.data(), dashed ? 2 : 0, 0.0);
}

void Canvas::Dot(double x, double y) {
  cairo_arc(cairo_, x, y, 3.2, 0.0, 2.0 * M_PI);
  cairo_fill(cairo_);
}

void Canvas::Rectangle(double x, double y, double width, double height) {
  cairo_rectangle(cairo_, x, y, width, height);
  cairo_fill(cairo_);
}

void Canvas::Text(const std::string& text, double x, double y, double align, double size) {
  cairo_set_font_size(cairo_, size);
  cairo_text_extents_t extents;
  cairo_text_extents(cairo_, text.c_str(), &extents);
  cairo_move_to(cairo_, x - align * extents.x_advance, y);
  cairo_show_text(cairo_, text.c_str());
}

void Canvas::TextUpwards(const std::string& text, double x, double y, double size) {
  cairo_save(cairo_);
  cairo_translate(cairo_, x, y);
  cairo_rotate(cairo_, -M_PI / 2.0);
  Text(text, 0.0, 0.0, 0.5, size);
  cairo_restore(cairo_);
}

void WriteFigure(const std::filesystem::path& directory, double width, double height,
                 const std::function<void(Canvas*)>& draw) {
  std::string svg;
  {
    const Surface surface(cairo_svg_surface_create_for_stream(AppendTo, &svg, width, height),
                          &cairo_surface_destroy);
    DrawOn(surface.get(), 1.0, draw);
    cairo_surface_finish(surface.get());
  }
  WriteFileAtomically(directory / "figure.svg", svg);

  std::string png;
  const Surface surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(kPngScale * width),
                                 static_cast<int>(kPngScale * height)),
      &cairo_surface_destroy);
  DrawOn(surface.get(), kPngScale, draw);
  CheckDrawn(cairo_surface_write_to_png_stream(surface.get(), AppendTo, &png));
  WriteFileAtomically(directory / "figure.png", png);
}

}  // namespace submarine::apps
