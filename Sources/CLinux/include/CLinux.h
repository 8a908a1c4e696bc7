#ifndef JOSTLE_CLINUX_H
#define JOSTLE_CLINUX_H
#endif
