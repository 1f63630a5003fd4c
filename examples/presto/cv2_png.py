"""Large PNG pictures: the same steps as cv2_jpg, over files of many times the size.

python cv2_png.py FOLDER        a folder per class
"""
import show
from cv2_jpg import pipeline

if __name__ == "__main__":
    show.main(pipeline, __doc__)
